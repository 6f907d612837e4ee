// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plugin has the commands of "kubectl bridge", by which administrators look after users'
// bridges: who has one, why something does not work, keys, and the access of people. It talks to
// the API server alone, with the rights of the person's kubeconfig, and says the same as the
// consoles do.
package plugin

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/internal/version"
)

// FieldOwner is the field manager of what the commands write, but for keys, which have one each.
const FieldOwner = "kubectl-bridge"

// Terminal is where a person types commands.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer
	// Interactive is whether somebody can answer a question.
	Interactive bool
	// Random makes keys.
	Random io.Reader
	Now    func() time.Time
}

// New returns the command with those below it.
func New(t Terminal) *cobra.Command {
	root := &cobra.Command{
		Use:         "kubectl-bridge",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl bridge"},
		Short:       "Look after the bridges of users",
		Long: `Look after the bridges of users, with the cluster and the rights of your kubeconfig.

A bridge is named as its HostedBridge, or by its user id. Put the program on PATH as
kubectl-bridge and run it as "kubectl bridge", or run kubectl-bridge itself: it needs no kubectl.`,
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(t.In)
	root.SetOut(t.Out)
	root.SetErr(t.Err)
	// The command that cobra adds speaks of a program of that name, not of a plugin.
	root.CompletionOptions.DisableDefaultCmd = true
	p := &program{Terminal: t}
	p.connection.declare(root.PersistentFlags())
	root.AddCommand(p.list(), p.why(), p.logs(), p.wake(), p.key(), p.self())
	for _, a := range accesses {
		root.AddCommand(p.access(a))
	}
	return root
}

// program is what all commands share.
type program struct {
	Terminal

	connection connection
}

// run returns the function of a command that needs the cluster.
func (p *program) run(do func(context.Context, *cluster, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		cl, err := p.connection.open()
		if err != nil {
			return err
		}
		return cl.explain(do(c.Context(), cl, args))
	}
}
