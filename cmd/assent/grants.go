package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

// savedAll asks for everything that approvers saved.
func (c *client) savedAll(ctx context.Context) (all []api.Saved, err error) {
	if err := c.call(ctx, "GET", "/v1/grants", nil, &all); err != nil {
		return nil, err
	}
	var f api.Rules
	err = c.call(ctx, "GET", "/v1/rules", nil, &f)
	return append(all, f.Saved...), err
}

// savedRow is what the commands print as JSON of a saved rule or grant: no signature, no key.
type savedRow struct {
	ID        string        `json:"id"`
	Kind      string        `json:"kind"`
	State     string        `json:"state"`
	Sentence  string        `json:"sentence"`
	RequestID string        `json:"requestId"`
	By        hook.Approver `json:"by"`
	CreatedAt time.Time     `json:"createdAt"`
	ExpiresAt time.Time     `json:"expiresAt"`
	Count     int           `json:"count"`
	Spent     int           `json:"spent"`
	Matches   int           `json:"matches"`
	LastMatch *time.Time    `json:"lastMatch"`
}

func newSavedRow(s *api.Saved) savedRow {
	return savedRow{s.ID, s.Kind, s.State, s.Sentence, s.RequestID, s.By, s.CreatedAt, s.ExpiresAt, s.Count, s.Spent, s.Matches, timeOrNull(s.LastMatch)}
}

func savedRows(list []api.Saved) []savedRow {
	rows := make([]savedRow, len(list))
	for i := range list {
		rows[i] = newSavedRow(&list[i])
	}
	return rows
}

func (a *app) grantsCmd() *cobra.Command {
	var over bool
	c := &cobra.Command{
		Use:   "grants",
		Short: "List and revoke saved rules and grants",
		Long: `List the rules and grants that approvers saved when they answered requests, and revoke one. A rule
lasts until it is revoked, a grant until its time or its count is used up. The rules in your own
files are not listed: change them in the file.`,
		Example: "  assent grants\n  assent grants revoke grant-3f9c2b7d0a41",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return helpOrUnknown(cmd, args)
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			all, err := b.savedAll(cmd.Context())
			if err != nil {
				return err
			}
			list := []api.Saved{}
			for _, s := range all {
				if over || s.State == hook.StateActive {
					list = append(list, s)
				}
			}
			if a.json {
				return a.printJSON(savedRows(list))
			}
			if len(list) == 0 {
				fmt.Fprintln(a.out, "Nothing is granted. To grant something: assent allow ID --grant 15m")
				return nil
			}
			a.printSaved(list)
			return nil
		},
	}
	c.Flags().BoolVar(&over, "all", false, "also expired and revoked ones")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	c.AddCommand(a.grantsRevokeCmd())
	return c
}

func (a *app) printSaved(list []api.Saved) {
	rows := make([][]string, 0, len(list))
	for _, s := range list {
		until := terminal.InForce(&s)
		if s.State != hook.StateActive {
			until = show.Line(s.State)
		}
		rows = append(rows, []string{show.Line(s.ID), until, strconv.Itoa(max(s.Matches, s.Spent)), day(s.LastMatch), show.Line(api.ApproverName(&s.By)), oneRow(readable(s.Sentence))})
	}
	a.printTable([]string{"ID", "HOLDS", "USED", "LAST USED", "BY", "WHAT"}, rows)
}

func (a *app) grantsRevokeCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "End a rule or a grant at once",
		Long: `End a saved rule or a grant at once. ID is the id that assent grants prints. Requests that the
rule or grant would have answered wait for a person again. Past answers stay in the record.`,
		Example: "  assent grants revoke grant-3f9c2b7d0a41",
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.broker()
			if err != nil {
				return err
			}
			all, err := b.savedAll(cmd.Context())
			if err != nil {
				return err
			}
			for _, s := range all {
				if s.ID != args[0] {
					continue
				}
				path := "/v1/rules/"
				if s.Kind == hook.SavedGrant {
					path = "/v1/grants/"
				}
				if err := b.call(cmd.Context(), "DELETE", path+url.PathEscape(s.ID), nil, nil); err != nil {
					return err
				}
				fmt.Fprintf(a.out, "Revoked %s: %s\n", show.Line(s.ID), oneRow(readable(s.Sentence)))
				return nil
			}
			return &exitError{exitRefused, fmt.Errorf("nothing that assent saved has the id %s; see: assent grants", show.Line(args[0]))}
		},
	}
}

// listSavedBy tells what a device saved that is still in force after the device went.
func (a *app) listSavedBy(ctx context.Context, b *client, device string) error {
	all, err := b.savedAll(ctx)
	if err != nil {
		return fmt.Errorf("what it saved is not known, look with assent grants: %w", err)
	}
	var list []api.Saved
	for _, s := range all {
		if s.State == hook.StateActive && s.By.Kind == "device" && s.By.ID == device {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintln(a.out, "What it saved is still in force. To end it: assent grants revoke ID")
	a.printSaved(list)
	return nil
}
