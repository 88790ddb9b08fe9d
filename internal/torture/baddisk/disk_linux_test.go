package baddisk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A disk is full until it is healed; and who writes to one that is frozen waits.
func TestDisk(t *testing.T) {
	if !Possible() {
		t.Skip("this user may not mount an image, or there is no mkfs.ext4")
	}
	d, err := New(filepath.Join(t.TempDir(), "disk"))
	if err != nil {
		t.Skipf("no disk can be made here: %v", err)
	}
	defer d.End()
	write := func() error {
		f, err := os.OpenFile(filepath.Join(d.Dir, "file"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := f.Write(make([]byte, 64<<10)); err != nil {
			return err
		}
		return f.Sync()
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	if err := d.Fill(); err != nil {
		t.Fatal(err)
	}
	if err := write(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %v", err)
	}
	d.Heal()
	if err := d.Freeze(true); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- write() }()
	select {
	case err := <-written:
		t.Errorf("on a frozen disk: %v", err)
	default:
	}
	d.Heal()
	if err := <-written; err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
