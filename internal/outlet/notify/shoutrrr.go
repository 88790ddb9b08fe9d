package notify

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nicholas-fedor/shoutrrr"
	"github.com/nicholas-fedor/shoutrrr/pkg/router"
)

// checkService reports whether a URL is one of a service that is known; more would need the
// service's own code, which may ask its servers. Its error does not show the URL.
func checkService(url string) error {
	scheme, _, _ := strings.Cut(url, ":")
	scheme, _, _ = strings.Cut(scheme, "+") // generic+https
	if _, err := new(router.ServiceRouter).NewService(scheme); err != nil {
		return errors.New("url: no service has URLs that begin so; docs/notifications.md shows some that do")
	}
	return nil
}

// Deliver hands text to the service of a URL. It cannot be stopped, some services wait for an
// answer without end and read all of it: it is for a process that can be killed. Its error may
// hold secrets of the URL.
func Deliver(url, text string) error {
	sender, err := shoutrrr.CreateSender(url)
	if err != nil {
		return fmt.Errorf("the service's URL: %w", err)
	}
	return errors.Join(sender.Send(text, nil)...)
}
