//go:build !linux

package executor

// sweep knows nothing of processes here, where no agent is started.
func sweep(began, string) bool { return true }

func killSoon(began, string) {}

func sweepStrays(began, string) bool { return true }

// Started says whether a host of this user started a process for a session, which none does here.
func Started(int, string) bool { return false }

func marked(int, []byte) bool { return false }

func sessionsAt(string) []string { return nil }
