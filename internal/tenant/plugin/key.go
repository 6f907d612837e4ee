// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
)

// key returns the command of API keys.
func (p *program) key() *cobra.Command {
	c := &cobra.Command{Use: "key", Short: "Make, list and revoke the API keys of a bridge"}
	c.AddCommand(p.createKey(), p.listKeys(), p.revokeKey())
	return c
}

// createKey returns the command that makes a key. The key alone is on the standard output, so that
// a script can take it.
func (p *program) createKey() *cobra.Command {
	var label, expires string
	c := &cobra.Command{
		Use: "create NAME", Args: cobra.ExactArgs(1),
		Short: "Make an API key, and print it this once",
		RunE: p.run(func(ctx context.Context, c *cluster, args []string) error {
			lifetime, err := apikey.ParseLifetime(expires)
			if err != nil {
				return fmt.Errorf("--expires: %w", err)
			}
			if err := keys.CheckName(label); err != nil {
				return fmt.Errorf("--label: %w", err)
			}
			b, err := c.find(ctx, args[0])
			if err != nil {
				return err
			}
			made, err := keys.NewCluster(c.client, p.Random).Create(ctx, backend(b), label, apikey.Expiry(p.Now(), lifetime))
			if err != nil {
				return keyProblem(b, err)
			}
			if _, err := fmt.Fprintln(p.Out, made.Key); err != nil {
				return err
			}
			revoke := fmt.Sprintf("kubectl bridge key revoke %s %s --namespace=%s", b.Name, made.ID, b.Namespace)
			_, err = fmt.Fprintf(p.Err, "This is shown once. It opens %s within a second; to revoke it: %s\n", opens(b), revoke)
			return err
		}),
	}
	c.Flags().StringVar(&label, "label", "", "purpose of the key, such as laptop; it becomes the key's name in the HostedBridge")
	c.Flags().StringVar(&expires, "expires", "", "how long the key works, such as 90d or 12h (default: until it is revoked)")
	return c
}

// opens returns what a key of the bridge opens.
func opens(b *v1alpha1.HostedBridge) string {
	if b.Status.URL != "" {
		return b.Status.URL
	}
	return "the bridge of " + string(b.User())
}

// listKeys returns the command that lists keys, by what is public of them.
func (p *program) listKeys() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "list NAME", Args: cobra.ExactArgs(1),
		Short: "List the API keys of a bridge, without the keys themselves",
		RunE: p.run(func(ctx context.Context, c *cluster, args []string) error {
			b, err := c.find(ctx, args[0])
			if err != nil {
				return err
			}
			held, err := keys.NewCluster(c.client, p.Random).List(ctx, backend(b))
			if err != nil {
				return keyProblem(b, err)
			}
			if output != "" {
				return printObject(p.Out, output, keys.List{Keys: held, Limit: keys.Max})
			}
			if len(held) == 0 {
				_, err := fmt.Fprintf(p.Err, "%s has no keys.\n", b.Name)
				return err
			}
			rows := [][]string{{"ID", "LABEL", "AGE", "EXPIRES", "LAST-USED", "MANAGED-BY"}}
			for _, k := range held {
				rows = append(rows, p.keyRow(k))
			}
			return table(p.Out, rows)
		}),
	}
	outputFlag(c, &output)
	return c
}

func (p *program) keyRow(k keys.Info) []string {
	made, expires, by := "<unknown>", "<never>", "<none>"
	if k.CreatedAt != nil {
		made = age(p.Now(), k.CreatedAt)
	}
	if k.ExpiresAt != nil {
		expires = k.ExpiresAt.Format("2006-01-02T15:04:05Z")
	}
	if len(k.ManagedBy) > 0 {
		by = strings.Join(k.ManagedBy, ",")
	}
	return []string{k.ID, k.Name, made, expires, age(p.Now(), k.LastUsed), by}
}

// revokeKey returns the command that revokes a key.
func (p *program) revokeKey() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME ID", Args: cobra.ExactArgs(2),
		Short: "Revoke an API key by its id; open calls with it end within a second",
		RunE: p.run(func(ctx context.Context, c *cluster, args []string) error {
			b, err := c.find(ctx, args[0])
			if err != nil {
				return err
			}
			id := args[1]
			// A key is accepted in place of its id, which is its second part.
			if parts := strings.Split(id, "_"); len(parts) == 3 {
				id = parts[1]
			}
			if err := keys.NewCluster(c.client, p.Random).Revoke(ctx, backend(b), id); err != nil {
				return keyProblem(b, err)
			}
			_, err = fmt.Fprintf(p.Out, "key %s of %s revoked\n", id, b.Name)
			return err
		}),
	}
}

// keyProblem returns an error about keys with what to do about it.
func keyProblem(b *v1alpha1.HostedBridge, err error) error {
	managed, isManaged := errors.AsType[*keys.ManagedError](err)
	unsure, isUnsure := errors.AsType[*keys.UnsureError](err)
	list := "kubectl bridge key list " + b.Name + " --namespace=" + b.Namespace
	switch {
	case errors.Is(err, keys.ErrNoBridge):
		return fmt.Errorf("the HostedBridge %s/%s was deleted meanwhile", b.Namespace, b.Name)
	case errors.Is(err, keys.ErrTooMany):
		return fmt.Errorf("%s has %d keys, as many as a bridge may have: revoke one of %s first", b.Name, keys.Max, list)
	case errors.Is(err, keys.ErrNoKey):
		return fmt.Errorf("%s has no key of this id: %s shows those that it has", b.Name, list)
	case isUnsure:
		return fmt.Errorf("it is not known whether key %s was changed (%w): look at %s", unsure.KeyID, err, list)
	case isManaged:
		by := strings.Join(managed.By, ", ")
		return fmt.Errorf("the key is in a manifest, which would add it again (field managers: %s): remove it there", by)
	}
	return err
}
