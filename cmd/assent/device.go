package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/text/show"
)

func (a *app) deviceCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "device",
		Short: "List, rename and revoke the paired browsers",
		Long: `List the browsers that are paired with the broker, rename one, and revoke one that is lost. To
pair a browser: assent pair.`,
		Example: "  assent device list\n  assent device rename 'Safari on iPhone 2' tablet\n  assent device revoke phone",
		Args:    cobra.ArbitraryArgs,
		RunE:    helpOrUnknown,
	}
	c.AddCommand(a.deviceListCmd(), a.deviceRenameCmd(), a.deviceRevokeCmd(), a.deviceUnverifyCmd())
	return c
}

func (a *app) deviceListCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the paired devices",
		Long: `List the paired devices. The column CODE says where the program comes from that shows requests and
signs answers with the device's key: broker for a page that the broker serves, independent for a
page of assent approver or a terminal on another machine. The device itself, or whoever let it in,
declared this when it was paired; it is no proof. Which keys a hook trusts is set in the hook's
hook.conf.`,
		Example: "  assent device list\n  assent device list --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd.Context(), a, "/v1/devices", "No device is paired. To pair one: assent pair",
				[]string{"ID", "ROLE", "NAME", "PAIRED", "LAST USED", "VERIFIES", "CODE", "KEY"}, func(d *api.Device) []string {
					verifies := "no"
					if d.Verifies {
						verifies = "yes"
					}
					return []string{show.Line(d.ID), show.Line(string(d.Role)), show.Line(d.Name), day(d.CreatedAt), day(d.LastUsed), verifies, show.Line(string(d.CodeOrigin)), keyOrNone(d.Thumbprint)}
				})
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

func (a *app) deviceRenameCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "rename ID|NAME NEW",
		Short: "Give a paired device another name",
		Long: `Give a paired device another name, which no other device may have. Say which device by its id, or
by its name if only one device has that name. Past records keep the old name.`,
		Example: "  assent device rename 'Safari on iPhone 2' tablet\n  assent device rename 5b0f6a0e-1b1c-4f0e-8d0a-6d7b8f1c2a3e phone",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || args[0] == "" || args[1] == "" {
				return errors.New("want the id or the name of one device, and its new name")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			b, d, err := a.deviceCalled(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var now api.Device
			if err := b.call(cmd.Context(), "PATCH", "/v1/devices/"+url.PathEscape(d.ID), api.RenameDevice{Name: args[1]}, &now); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(now)
			}
			fmt.Fprintf(a.out, "%s is now %s (%s)\n", show.Line(d.Name), show.Line(now.Name), show.Line(now.ID))
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: the device as it is now")
	return c
}

func (a *app) deviceRevokeCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "Remove a paired device; its open connections close at once",
		Long: `Remove a paired device for good; its open connections close at once. Its key is revoked with it, and
the record says so: what the key signs later is reported by assent audit verify, and to be paired
again the device has to make a new key. Say which device by its id, or by its name if only one
device has that name.`,
		Example: "  assent device revoke phone\n  assent device revoke 5b0f6a0e-1b1c-4f0e-8d0a-6d7b8f1c2a3e",
		Args:    oneDevice,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, d, err := a.deviceCalled(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := b.call(cmd.Context(), "DELETE", "/v1/devices/"+url.PathEscape(d.ID), nil, nil); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(d)
			}
			fmt.Fprintf(a.out, "Revoked %s (%s)\n", show.Line(d.Name), show.Line(d.ID))
			return a.listSavedBy(cmd.Context(), b, d.ID)
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: the device that was removed")
	return c
}

func (a *app) deviceUnverifyCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "unverify ID|NAME",
		Short: "Stop asking a device for a face, a fingerprint or a PIN",
		Long: `Turn off verification for a paired device: it is no longer asked for a face, a fingerprint or a
PIN before it allows something dangerous. Normally this is done on the device itself, under You,
Devices; this command is for a device that can no longer verify its owner. The device stays
paired, and can turn verification on again.`,
		Example: "  assent device unverify phone",
		Args:    oneDevice,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, d, err := a.deviceCalled(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := b.call(cmd.Context(), "DELETE", "/v1/devices/"+url.PathEscape(d.ID)+"/verification", api.EndVerification{}, nil); err != nil {
				return err
			}
			d.Verifies = false
			if a.json {
				return a.printJSON(d)
			}
			fmt.Fprintf(a.out, "%s verifies its owner no longer (%s)\n", show.Line(d.Name), show.Line(d.ID))
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: the device as it is now")
	return c
}

// oneDevice wants one argument, that names a device.
func oneDevice(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return errors.New("want the id or the name of one device")
	}
	return nil
}

// deviceCalled finds a device by its id, or by a name that only one has, and its broker. An id wins over a
// name: names are the devices' own words.
func (a *app) deviceCalled(ctx context.Context, text string) (b *client, d api.Device, err error) {
	if b, err = a.broker(); err != nil {
		return nil, d, err
	}
	var ds []api.Device
	if err := b.call(ctx, "GET", "/v1/devices", nil, &ds); err != nil {
		return nil, d, err
	}
	found := 0
	for _, each := range ds {
		if each.ID == text {
			return b, each, nil
		}
		if each.Name == text {
			d = each
			found++
		}
	}
	switch found {
	case 1:
		return b, d, nil
	case 0:
		return nil, d, &exitError{exitRefused, fmt.Errorf("no device has the id or name %s; see: assent device list", show.Line(text))}
	}
	return nil, d, usagef("%d devices are called %s; say the id, see: assent device list", found, show.Line(text))
}
