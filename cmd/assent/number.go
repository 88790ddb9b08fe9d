package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"assent/internal/api"
)

// A person names a request by its number, or by the last digits of the number where only one of the
// last hour has them. Its id is the submitter's choice, and so is how that begins.
var numberLike = regexp.MustCompile(`^#?[0-9]{1,18}$`)

const (
	// lately is how old a request may be whose number is shortened.
	lately = time.Hour
	// The pages of requests that are over, in which those of the last hour are looked for.
	endedPage, endedPages = 500, 10
)

// byNumber returns the id of the request that digits name.
func (c *client) byNumber(ctx context.Context, digits string) (string, error) {
	digits = strings.TrimPrefix(digits, "#")
	known, err := c.recent(ctx)
	if err != nil {
		return "", err
	}
	found := withNumber(known, digits)
	switch len(found) {
	case 1:
		return found[0].ID, nil
	case 0:
		return c.older(ctx, digits)
	}
	var numbers []string
	for _, r := range found[:min(len(found), 4)] {
		numbers = append(numbers, strconv.FormatUint(r.Number, 10))
	}
	return "", refusedf("%d requests of the last hour have numbers that end in %s; type one of them whole: %s",
		len(found), digits, strings.Join(numbers, ", "))
}

// withNumber are the requests that digits may mean: the one with that number, else those whose numbers
// end in it.
func withNumber(known []api.Request, digits string) []api.Request {
	var found []api.Request
	for _, r := range known {
		number := strconv.FormatUint(r.Number, 10)
		switch {
		case r.Number == 0:
		case number == digits:
			return []api.Request{r}
		case strings.HasSuffix(number, digits):
			found = append(found, r)
		}
	}
	return found
}

// recent are the requests that wait, and those that were asked within the last hour.
func (c *client) recent(ctx context.Context) ([]api.Request, error) {
	var all []api.Request
	if err := c.call(ctx, "GET", "/v1/requests?state=pending", nil, &all); err != nil {
		return nil, err
	}
	since := time.Now().Add(-lately)
	after := ""
	for range endedPages {
		var page []api.Request
		path := fmt.Sprintf("/v1/requests?state=ended&limit=%d&after=%s", endedPage, url.QueryEscape(after))
		if err := c.call(ctx, "GET", path, nil, &page); err != nil {
			return nil, err
		}
		for _, r := range page {
			if r.CreatedAt.After(since) {
				all = append(all, r)
			}
		}
		// They come by when they were settled, the newest first, and nothing is settled before it is asked.
		if len(page) < endedPage || page[len(page)-1].SettledAt.Before(since) {
			break
		}
		after = page[len(page)-1].ID
	}
	slices.SortFunc(all, func(x, y api.Request) int { return cmp.Compare(x.Number, y.Number) })
	return slices.CompactFunc(all, func(x, y api.Request) bool { return x.ID == y.ID }), nil
}

// older is the request with this number, however old it is.
func (c *client) older(ctx context.Context, digits string) (string, error) {
	var found []api.Request
	if err := c.call(ctx, "GET", "/v1/requests?number="+digits, nil, &found); err != nil {
		return "", err
	}
	for _, r := range found {
		if strconv.FormatUint(r.Number, 10) == digits {
			return r.ID, nil
		}
	}
	return "", refusedf("no request has the number %s, and none of the last hour ends in it; see: %s pending", digits, typed())
}

func refusedf(format string, args ...any) error {
	return &exitError{exitRefused, fmt.Errorf(format, args...)}
}
