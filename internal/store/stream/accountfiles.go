package stream

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assent/internal/host/regular"
)

// AccountsFile is the file for the servers; the others are called as the users are.
const AccountsFile = "accounts.conf"

// maxAddresses bounds a file with addresses or credentials.
const maxAddresses = 64 << 10

// NewPassword makes a password for a user.
func NewPassword() string { return rand.Text() + rand.Text() }

// AccountFiles are the files for a cluster, by name. servers are HOST:PORT with commas between them.
func AccountFiles(servers string, password func() string) (map[string]string, error) {
	var hosts []string
	scheme := "nats"
	for _, text := range strings.Split(servers, ",") {
		if s, host, ok := strings.Cut(text, "://"); ok {
			scheme, text = s, host
		}
		if scheme != "nats" && scheme != "tls" || text == "" || strings.ContainsAny(text, "@/ \t") {
			return nil, errors.New("want HOST:PORT of each server with commas between them, such as n1:4222,n2:4222, and no password")
		}
		hosts = append(hosts, text)
	}
	passwords, files := map[string]string{}, map[string]string{}
	for _, user := range Users() {
		passwords[user] = password()
		for _, host := range hosts {
			files[user] += scheme + "://" + user + ":" + passwords[user] + "@" + host + "\n"
		}
	}
	files[AccountsFile] = "# Accounts for assent, for each nats-server of the cluster. Written by assent nats-accounts.\n" + AccountsConfig(passwords)
	return files, nil
}

// WriteAccounts writes the files, for their owner alone. Nothing is written if one of them is there.
func WriteAccounts(dir string, files map[string]string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory: %w", err)
	}
	for name := range files {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s is there already, and its passwords may be in use: choose another directory with --dir", filepath.Join(dir, name))
		}
	}
	for name, text := range files {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("write the accounts: %w", err)
		}
		_, err = f.WriteString(text)
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("write the accounts: %w", err)
		}
	}
	return nil
}

// ReadAccounts reads the addresses of each user.
func ReadAccounts(dir string) (map[string]string, error) {
	urls := map[string]string{}
	for _, user := range Users() {
		text, err := ReadPrivate(filepath.Join(dir, user))
		if err != nil {
			return nil, fmt.Errorf("read the accounts: %w", err)
		}
		urls[user] = strings.Join(strings.Fields(text), ",")
	}
	return urls, nil
}

var errOddAddresses = errors.New("it is no file of a sensible size")

// ReadPrivate reads a file with addresses or credentials, which nobody but its owner may read.
func ReadPrivate(path string) (string, error) {
	if _, err := os.Stat(path); err != nil {
		return "", err
	}
	f, fi, err := regular.Open(path, os.O_RDONLY, 0)
	if errors.Is(err, regular.ErrRefused) {
		return "", errOddAddresses
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := regular.All(f, maxAddresses)
	switch {
	case errors.Is(err, regular.ErrLarge):
		return "", errOddAddresses
	case err == nil && fi.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("others can read it: chmod 600 %s", path)
	}
	return string(text), err
}
