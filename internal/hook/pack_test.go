package hook

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// fillTexts gives each text of v, a struct, one of its own, and returns how many there are.
func fillTexts(v reflect.Value, prefix string) (n int) {
	for i := range v.NumField() {
		f, name := v.Field(i), prefix+v.Type().Field(i).Name
		switch {
		case f.Type() == reflect.TypeFor[string]():
			f.SetString("the " + name)
			n++
		case f.Kind() == reflect.Struct && f.Type().PkgPath() == v.Type().PkgPath():
			n += fillTexts(f, name+".")
		}
	}
	return n
}

// A packed request says what it said, in one piece of memory.
func TestPack(t *testing.T) {
	var r, want Request
	n := fillTexts(reflect.ValueOf(&r).Elem(), "")
	fillTexts(reflect.ValueOf(&want).Elem(), "")
	if got := len(r.texts(nil)); got != n || got > maxTexts {
		t.Errorf("%d texts are known of %d", got, n)
	}
	r.CallKey = strings.Repeat("k", maxPacked+1)
	want.CallKey = r.CallKey
	long := unsafe.StringData(r.CallKey)
	if made := testing.AllocsPerRun(10, r.Pack); made > 1 {
		t.Errorf("%v allocations", made)
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, want %+v", r, want)
	}
	if unsafe.StringData(r.CallKey) != long {
		t.Error("a long text was copied")
	}
	end := unsafe.StringData(r.ID)
	for _, s := range r.texts(nil) {
		if len(*s) > maxPacked {
			continue
		}
		if unsafe.StringData(*s) != end {
			t.Errorf("%q stands elsewhere", *s)
		}
		end = (*byte)(unsafe.Add(unsafe.Pointer(end), len(*s)))
	}
	var none Request
	none.Pack()
	if !reflect.DeepEqual(none, Request{}) {
		t.Errorf("of nothing: %+v", none)
	}
}

func TestShareTexts(t *testing.T) {
	var a, b, want Request
	for _, r := range []*Request{&a, &b, &want} {
		fillTexts(reflect.ValueOf(r).Elem(), "")
	}
	b.CWD, want.CWD = "another", "another"
	b.ShareTexts(&a)
	if !reflect.DeepEqual(b, want) {
		t.Errorf("%+v, want %+v", b, want)
	}
	if unsafe.StringData(b.ID) != unsafe.StringData(a.ID) || b.CWD == a.CWD {
		t.Error("equal texts stand in two places")
	}
}
