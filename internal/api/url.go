package api

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// BrokerURL checks where a token may be sent: over TLS, or not off this machine.
func BrokerURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%s: want scheme and host, as in https://box.example.net", text)
	}
	if u.Scheme == "http" && !Loopback(u.Hostname()) {
		return "", fmt.Errorf("%s: want https: a token would travel in the clear", text)
	}
	return u.Scheme + "://" + u.Host, nil
}

// Loopback reports whether a host is this machine, whoever asks.
func Loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
