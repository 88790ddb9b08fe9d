package powercut

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// ErrMissing says that nothing can be mounted here.
var ErrMissing = errors.New("no FUSE here: it needs /dev/fuse, and the right to mount")

// unmountTimeout bounds how long an unmount is tried before it is done lazily.
const unmountTimeout = 10 * time.Second

// Disk is a directory that is shown at another place while it is mounted.
type Disk struct {
	backing, dir string
	server       *fuse.Server // nil while it is not mounted
	guard        io.Closer    // unmounts when this process is gone

	mu    sync.Mutex
	dirty map[uint64]*past // guarded by mu; by inode of the backing file
	syncs int              // guarded by mu
}

// past is what a file had at its last sync and has no more.
type past struct {
	file *os.File // of its own: the file may have no name any more
	undo []step
}

// step is how to take back one change: the size first, then the bytes.
type step struct {
	size   int64
	offset int64
	bytes  []byte
}

// Mount shows the directory backing at dir; both must be there, and belong to this process alone.
// The error wraps ErrMissing where nothing can be mounted.
func Mount(backing, dir string) (*Disk, error) {
	d := &Disk{backing: backing, dir: dir, dirty: map[uint64]*past{}}
	if err := d.startGuard(); err != nil {
		return nil, err
	}
	if err := d.mount(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrMissing, err), d.guard.Close())
	}
	return d, nil
}

// startGuard starts a process that unmounts when this one is gone, however it goes: a mount whose
// server is dead would stay for good.
func (d *Disk) startGuard() error {
	cmd := exec.Command("sh", "-c", `cat >/dev/null; umount -l "$0" 2>/dev/null || fusermount3 -u -z "$0" 2>/dev/null || fusermount -u -z "$0" 2>/dev/null; true`, d.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // outlives a signal to our group
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	d.guard = guard{in, cmd}
	return nil
}

type guard struct {
	in  io.Closer
	cmd *exec.Cmd
}

// Close lets the process do its work, and waits for its end.
func (g guard) Close() error { return errors.Join(g.in.Close(), g.cmd.Wait()) }

func (d *Disk) mount() error {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	root := &fs.LoopbackRoot{Path: d.backing}
	top := &node{LoopbackNode: fs.LoopbackNode{RootData: root}, disk: d}
	root.RootNode = top
	d.server, err = fs.Mount(d.dir, top, &fs.Options{MountOptions: fuse.MountOptions{FsName: "powercut", Name: "powercut", DirectMount: true}})
	return err
}

// Cut is a power cut, after the processes died: all that was not synced is gone. The directory is
// mounted anew, so that nothing of it lives on in the kernel's cache.
func (d *Disk) Cut() error {
	if err := d.unmount(); err != nil {
		return err
	}
	if err := d.forget(); err != nil {
		return err
	}
	return d.mount()
}

// forget takes back what was not synced.
func (d *Disk) forget() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for inode, p := range d.dirty {
		for _, s := range slices.Backward(p.undo) {
			_, e := p.file.WriteAt(s.bytes, s.offset)
			err = errors.Join(err, e, p.file.Truncate(s.size))
		}
		err = errors.Join(err, p.file.Close())
		delete(d.dirty, inode)
	}
	return err
}

// Syncs is how many times a file with changes was synced.
func (d *Disk) Syncs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncs
}

func (d *Disk) unmount() error {
	if d.server == nil {
		return nil
	}
	err := d.server.Unmount()
	for end := time.Now().Add(unmountTimeout); err != nil && time.Now().Before(end); err = d.server.Unmount() {
		time.Sleep(10 * time.Millisecond) // a process that was killed may still be closing its files
	}
	if err != nil {
		if lazy := syscall.Unmount(d.dir, syscall.MNT_DETACH); lazy != nil {
			return fmt.Errorf("unmount %s: %w", d.dir, errors.Join(err, lazy))
		}
	}
	d.server = nil
	return nil
}

// Close unmounts the directory and keeps what there is of its files.
func (d *Disk) Close() error {
	err := d.unmount()
	d.mu.Lock()
	for _, p := range d.dirty {
		err = errors.Join(err, p.file.Close())
	}
	d.dirty = map[uint64]*past{}
	d.mu.Unlock()
	return errors.Join(err, d.guard.Close())
}

// before remembers what a change of f is about to replace: n bytes at offset, and the size. It is
// called with mu held, and the change is made before mu is free.
func (d *Disk) before(f *os.File, offset, n int64) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	inode := fi.Sys().(*syscall.Stat_t).Ino
	p := d.dirty[inode]
	if p == nil {
		own, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		p = &past{file: own}
		d.dirty[inode] = p
	}
	s := step{size: fi.Size(), offset: offset}
	if n = min(n, fi.Size()-offset); n > 0 {
		s.bytes = make([]byte, n)
		if _, err := p.file.ReadAt(s.bytes, offset); err != nil {
			return err
		}
	}
	p.undo = append(p.undo, s)
	return nil
}

// synced makes the changes of f durable.
func (d *Disk) synced(f *os.File) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	inode := fi.Sys().(*syscall.Stat_t).Ino
	p := d.dirty[inode]
	if p == nil {
		return nil
	}
	d.syncs++
	delete(d.dirty, inode)
	return p.file.Close()
}

// node is a file or a directory.
type node struct {
	fs.LoopbackNode
	disk *Disk
}

// WrapChild makes what stands below a node one too.
func (n *node) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	child, ok := ops.(*fs.LoopbackNode)
	if !ok {
		return ops
	}
	return &node{LoopbackNode: fs.LoopbackNode{RootData: child.RootData}, disk: n.disk}
}

// Open opens the file for writing, too, where it can: what is written has to be read before.
func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	path := n.disk.backing + "/" + n.Path(nil)
	if flags&syscall.O_TRUNC != 0 {
		if errno := n.truncate(path, nil, 0); errno != 0 {
			return nil, 0, errno
		}
	}
	f, err := os.OpenFile(path, int(flags)&syscall.O_ACCMODE|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, 0, fs.ToErrno(err)
	}
	return &file{f, n.disk}, 0, 0
}

// Create makes a file.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	// The loopback makes the inode; its handle is replaced by ours.
	inode, handle, fuseFlags, errno := n.LoopbackNode.Create(ctx, name, flags&^syscall.O_TRUNC, mode, out)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	if r, ok := handle.(fs.FileReleaser); ok {
		r.Release(ctx)
	}
	path := n.disk.backing + "/" + n.Path(nil) + "/" + name
	if flags&syscall.O_TRUNC != 0 {
		if errno := n.truncate(path, nil, 0); errno != 0 {
			return nil, nil, 0, errno
		}
	}
	f, err := os.OpenFile(path, int(flags)&syscall.O_ACCMODE|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, 0, fs.ToErrno(err)
	}
	return inode, &file{f, n.disk}, fuseFlags, 0
}

// Setattr sees truncations, and leaves the rest to the loopback.
func (n *node) Setattr(ctx context.Context, h fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		mine, _ := h.(*file)
		if errno := n.truncate(n.disk.backing+"/"+n.Path(nil), mine, int64(size)); errno != 0 {
			return errno
		}
		rest := *in
		rest.Valid &^= fuse.FATTR_SIZE
		in = &rest
	}
	if mine, ok := h.(*file); ok && in.Valid&^(fuse.FATTR_FH|fuse.FATTR_LOCKOWNER) == 0 {
		return mine.Getattr(ctx, out) // it may have no name any more
	}
	return n.LoopbackNode.Setattr(ctx, nil, in, out)
}

// truncate changes the size of an open file, or of that at path.
func (n *node) truncate(path string, h *file, size int64) syscall.Errno {
	var f *os.File
	if h != nil {
		f = h.file
	} else {
		var err error
		if f, err = os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW, 0); err != nil {
			return fs.ToErrno(err)
		}
		defer f.Close()
	}
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	err := n.disk.before(f, size, 1<<62)
	if err == nil {
		err = f.Truncate(size)
	}
	return fs.ToErrno(err)
}

// CopyFileRange makes the kernel read and write instead.
func (n *node) CopyFileRange(context.Context, fs.FileHandle, uint64, *fs.Inode, fs.FileHandle, uint64, uint64, uint64) (uint32, syscall.Errno) {
	return 0, syscall.ENOSYS
}

// file is an open file.
type file struct {
	file *os.File
	disk *Disk
}

func (f *file) Read(_ context.Context, buf []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	n, err := f.file.ReadAt(buf, offset)
	if err != nil && err != io.EOF {
		return nil, fs.ToErrno(err)
	}
	return fuse.ReadResultData(buf[:n]), 0
}

func (f *file) Write(_ context.Context, data []byte, offset int64) (uint32, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.before(f.file, offset, int64(len(data))); err != nil {
		return 0, fs.ToErrno(err)
	}
	n, err := f.file.WriteAt(data, offset)
	return uint32(n), fs.ToErrno(err)
}

func (f *file) Fsync(context.Context, uint32) syscall.Errno { return fs.ToErrno(f.disk.synced(f.file)) }
func (f *file) Flush(context.Context) syscall.Errno         { return 0 }
func (f *file) Release(context.Context) syscall.Errno       { return fs.ToErrno(f.file.Close()) }

func (f *file) Getattr(_ context.Context, out *fuse.AttrOut) syscall.Errno {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.file.Fd()), &st); err != nil {
		return fs.ToErrno(err)
	}
	out.FromStat(&st)
	return 0
}
