// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/internal/tenant/bridgestore"
)

// accessChange is a command that changes the access of a user.
type accessChange struct {
	name, done, short string
	to                v1alpha1.Access
	// asks is whether the user id has to be typed, because not all of it can be undone.
	asks bool
}

var accesses = []accessChange{
	{"suspend", "suspended", "Refuse the keys and logins of a user, and keep everything", v1alpha1.AccessSuspended, false},
	{"resume", "resumed", "Give a user the access back", v1alpha1.AccessAllowed, false},
	{
		"offboard", "offboarded", "End the access of a user who leaves; secrets are destroyed after the retention time",
		v1alpha1.AccessOffboarded, true,
	},
}

// accessWord returns an access as it is written in a sentence.
func accessWord(a v1alpha1.Access) string { return strings.ToLower(string(a)) }

// access returns a command that changes the access of a user.
func (p *program) access(a accessChange) *cobra.Command {
	var dryRun, yes bool
	c := &cobra.Command{
		Use: a.name + " NAME", Args: cobra.ExactArgs(1),
		Short: a.short,
		RunE: p.run(func(ctx context.Context, c *cluster, args []string) error {
			b, err := c.find(ctx, args[0])
			if err != nil {
				return err
			}
			store := &bridgestore.UserAccess{Client: c.client, Namespace: c.installation, Known: known{cluster: c, found: b}, Owner: FieldOwner}
			preview, err := store.Set(ctx, b.User(), a.to, true)
			if err != nil {
				return err
			}
			if dryRun || a.asks && !yes {
				if err := p.printPreview(a, preview); err != nil || dryRun {
					return err
				}
				if err := p.confirm(string(b.User())); err != nil {
					return err
				}
			}
			if _, err := store.Set(ctx, b.User(), a.to, false); err != nil {
				return err
			}
			return p.printDone(c, a, b.User())
		}),
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would follow, and change nothing")
	if a.asks {
		c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for the user id")
	}
	return c
}

// printPreview says what follows, and what is left to somebody else.
func (p *program) printPreview(a accessChange, r access.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", strings.ToUpper(a.name[:1])+a.name[1:], r.User)
	if r.Bridge != nil {
		fmt.Fprintf(&b, "  HostedBridge %s/%s with %d keys and %d secrets\n", r.Bridge.Namespace, r.Bridge.Name, r.Bridge.Keys, r.Bridge.Secrets)
	}
	b.WriteString("What follows:\n")
	for i, step := range r.Steps {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, step)
	}
	if a.to == v1alpha1.AccessOffboarded && r.Bridge != nil {
		if !r.Bridge.Onboarded {
			fmt.Fprintf(&b, "What stays: the HostedBridge, because no login made it; delete it where its manifest is\n")
		}
		if len(r.Bridge.SecretRefs) > 0 {
			fmt.Fprintf(&b, "What stays: the Secrets that the HostedBridge names: %s\n", strings.Join(r.Bridge.SecretRefs, ", "))
		}
	}
	_, err := fmt.Fprint(p.Err, b.String())
	return err
}

// confirm asks for the user id.
func (p *program) confirm(user string) error {
	if !p.Interactive {
		return errors.New("nothing was changed: nobody can be asked here, so add --yes")
	}
	if _, err := fmt.Fprintf(p.Err, "Type %s to confirm: ", user); err != nil {
		return err
	}
	line, err := bufio.NewReader(p.In).ReadString('\n')
	if err != nil && line == "" || strings.TrimSpace(line) != user {
		return fmt.Errorf("nothing was changed: %s was not typed", user)
	}
	return nil
}

// printDone says what was done, and how to see how far it is.
func (p *program) printDone(c *cluster, a accessChange, user v1alpha1.UserID) error {
	person := access.UserName(user)
	if _, err := fmt.Fprintf(p.Out, "bridgeperson.%s/%s %s\n", v1alpha1.GroupVersion.Group, person, a.done); err != nil {
		return err
	}
	if a.to == v1alpha1.AccessAllowed {
		return nil
	}
	_, err := fmt.Fprintf(p.Err, "How far it is: kubectl describe bridgeperson %s --namespace=%s\n", person, c.installation)
	return err
}

// known are the people and bridges as the API server has them.
type known struct {
	*cluster

	found *v1alpha1.HostedBridge
}

// Persons implements bridgestore.Records.
func (k known) Persons(ctx context.Context) ([]v1alpha1.BridgePerson, error) {
	var all []v1alpha1.BridgePerson
	empty := func() *v1alpha1.BridgePersonList { return &v1alpha1.BridgePersonList{} }
	err := namespaces.EachPage(ctx, k.client, empty, func(page *v1alpha1.BridgePersonList) error {
		all = append(all, page.Items...)
		return nil
	}, client.InNamespace(k.installation), client.Limit(pageSize))
	if err != nil {
		return nil, fmt.Errorf("list BridgePersons: %w", err)
	}
	return all, nil
}

// Bridges implements bridgestore.Records: all bridges, or those that the person may list.
func (k known) Bridges(ctx context.Context) ([]*effective.Bridge, error) {
	all, err := k.everyBridge(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(all, func(b v1alpha1.HostedBridge) bool { return b.UID == k.found.UID }) {
		all = append(all, *k.found)
	}
	bridges := make([]*effective.Bridge, len(all))
	for i := range all {
		bridges[i] = effective.Of(&all[i])
	}
	return bridges, nil
}
