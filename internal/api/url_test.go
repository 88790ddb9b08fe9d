package api

import "testing"

func TestBrokerURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://box.example.net": "https://box.example.net", "https://box:7717/": "https://box:7717", "http://localhost:7717": "http://localhost:7717",
		"http://[::1]:7717": "http://[::1]:7717", "http://127.3.2.1": "http://127.3.2.1",
		"http://box": "", "http://10.0.0.1": "", "ftp://box": "", "box": "", "": "", "https://": "", "https://me:secret@box": "", "https://box/x": "",
		"https://box?x": "", "https://box#x": "", "http://localhost.example.net": "", "http://[::1": "",
	} {
		got, err := BrokerURL(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}
