// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/overview"
)

// listed are the bridges of a list, for programs.
type listed struct {
	Bridges []listedBridge `json:"bridges"`
}

// listedBridge is a bridge as GET /admin/users/<user id> has it, and how it is in words.
type listedBridge struct {
	overview.Detail

	Summary string `json:"summary"`
}

// list returns the command that lists bridges.
func (p *program) list() *cobra.Command {
	var all bool
	var output string
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: cobra.NoArgs,
		Short: "List bridges: whose they are, how they are, and when they were last used",
		RunE: p.run(func(ctx context.Context, c *cluster, _ []string) error {
			namespace := c.namespace
			if all {
				namespace = metav1.NamespaceAll
			}
			return p.printList(ctx, c, namespace, output)
		}),
	}
	c.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list the bridges of all namespaces")
	outputFlag(c, &output)
	return c
}

// outputFlag declares in which form a command prints what it found.
func outputFlag(c *cobra.Command, output *string) {
	c.Flags().StringVarP(output, "output", "o", "", "json or yaml (default: a table)")
	c.PreRunE = func(*cobra.Command, []string) error {
		switch *output {
		case "", "json", "yaml":
			return nil
		}
		return fmt.Errorf("--output: %.40q is not a form of output; give json or yaml, or leave it out for a table", *output)
	}
}

// printObject prints something for programs.
func printObject(w io.Writer, output string, object any) error {
	if output == "json" {
		return jsondoc.Print(w, object)
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = w.Write(text)
	return err
}

func (p *program) printList(ctx context.Context, c *cluster, namespace, output string) error {
	found, err := c.bridges(ctx, namespace)
	if err != nil {
		return err
	}
	out := listed{Bridges: []listedBridge{}}
	for i := range found {
		d := detailOf(effective.Of(&found[i]), p.Now())
		out.Bridges = append(out.Bridges, listedBridge{d, d.Summary()})
	}
	if output != "" {
		return printObject(p.Out, output, out)
	}
	if len(out.Bridges) == 0 {
		where := ""
		if namespace != metav1.NamespaceAll {
			where = " in " + namespace + " namespace"
		}
		_, err := fmt.Fprintln(p.Err, "No resources found"+where+".")
		return err
	}
	rows := [][]string{{"NAME", "USER", "PHASE", "SERVERS", "LAST-USED", "STATE"}}
	for i, b := range out.Bridges {
		used := age(p.Now(), b.LastActivity)
		rows = append(rows, []string{b.Name, string(b.User.User), phase(b.Phase), servers(&found[i]), used, oneLine(b.Summary)})
	}
	if namespace == metav1.NamespaceAll {
		rows[0] = append([]string{"NAMESPACE"}, rows[0]...)
		for i, b := range out.Bridges {
			rows[i+1] = append([]string{b.Namespace}, rows[i+1]...)
		}
	}
	return table(p.Out, rows)
}

// detailOf returns what is known of a bridge. The operator notes in its status what the records of
// people say.
func detailOf(b *effective.Bridge, now time.Time) overview.Detail {
	d := overview.State{Now: now}.DetailOf(b)
	if a := b.Status.Access; a != nil {
		d.Access = a.State
	}
	return d
}

// table prints rows in columns, as kubectl does.
func table(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 6, 4, 3, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(t, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return t.Flush()
}

func phase(p v1alpha1.Phase) string {
	if p == "" {
		return "Unknown"
	}
	return string(p)
}

// servers returns how many servers of a bridge answer, and of how many.
func servers(b *v1alpha1.HostedBridge) string {
	if b.Status.Servers == "" {
		return fmt.Sprintf("-/%d", len(effective.Of(b).Spec.Servers))
	}
	return b.Status.Servers
}

// age returns for how long something has been so, as kubectl prints it.
func age(now time.Time, since *time.Time) string {
	if since == nil {
		return "<never>"
	}
	return duration.HumanDuration(now.Sub(*since))
}

// oneLine keeps a cell of a table on one line, whatever a message has.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
