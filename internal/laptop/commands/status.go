// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridge"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/laptop"
	"github.com/hostedbridge/hostedbridge/internal/version"
)

// ErrSilent is an exit code 1 without a message: the output says it.
var ErrSilent = errors.New("")

// serverStatus is what bridge status says of one server.
type serverStatus struct {
	Name           string                 `json:"name"`
	Transport      bridgeconfig.Transport `json:"transport"`
	State          string                 `json:"state"`
	Tools          int                    `json:"tools"`
	MissingSecrets []string               `json:"missingSecrets,omitempty"`
	// Unreadable are secrets that are there, in a keyring that is locked.
	Unreadable []string `json:"unreadableSecrets,omitempty"`
	// Remedies are the commands that bring the missing ones.
	Remedies []string `json:"remedies,omitempty"`
	Error    string   `json:"error,omitempty"`
	// Audit says how the tools compare to those that the recipe's publisher
	// audited: same or changed; empty where there is nothing to compare.
	Audit string `json:"audit,omitempty"`
}

// The words of a status besides health's.
const (
	stateSecretMissing = "secret missing"
	stateUnreadable    = "secret unreadable"
	auditSame          = "same"
	auditChanged       = "changed"
)

// newStatus returns the command that says how the servers are.
func newStatus() *cobra.Command {
	var path string
	var asJSON bool
	timeout := 30 * time.Second // npx fetches a package in less.
	c := &cobra.Command{
		Use:   "status",
		Short: "Start the servers and print their status",
		Args:  cobra.NoArgs,
		RunE: withMachine(&path, func(c *cobra.Command, m *machine, _ []string) error {
			s, err := m.load(c.Context())
			if err != nil {
				return err
			}
			if s.fault != nil {
				c.PrintErrln("some secrets cannot be read:", s.fault)
			}
			states, err := m.statuses(c.Context(), s, timeout)
			if err != nil {
				return err
			}
			if asJSON {
				return jsondoc.Print(c.OutOrStdout(), map[string]any{"config": m.path, "format": s.Format, "warnings": s.Warnings, "servers": states})
			}
			for _, w := range s.Warnings {
				c.PrintErrln("note:", w)
			}
			return printStatuses(c.OutOrStdout(), states)
		}),
	}
	configFlag(c, &path)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().DurationVar(&timeout, "timeout", timeout, "how long a server may take to start and answer")
	return c
}

func (m *machine) statuses(ctx context.Context, s setup, timeout time.Duration) ([]serverStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	trust := laptop.OpenTrust(m.folders.State)
	states := make([]serverStatus, len(s.config.Servers))
	var all sync.WaitGroup
	for i, server := range s.config.Servers {
		audited, err := trust.ToolsHash(server.Name)
		if err != nil {
			return nil, err
		}
		states[i] = serverStatus{Name: server.Name, Transport: server.Kind(), MissingSecrets: s.missing(server), Unreadable: s.locked(server), Remedies: s.remedies(server)}
		if len(states[i].MissingSecrets) > 0 {
			states[i].State = stateSecretMissing
			continue
		}
		if len(states[i].Unreadable) > 0 {
			states[i].State = stateUnreadable
			continue
		}
		if p := server.Program; p != nil && m.programs().Lacks(p.Command) {
			states[i].State = string(health.Unhealthy)
			states[i].Error = "its program is no longer there: bridge add RECIPE --replace installs it again"
			continue
		}
		all.Go(func() { states[i].probe(ctx, s, server, audited) })
	}
	all.Wait()
	return states, nil
}

// probe starts the server and lists its tools, also those that are filtered
// out, which the publisher has audited too.
func (s *serverStatus) probe(ctx context.Context, from setup, server bridgeconfig.Server, audited string) {
	s.State = string(health.Unhealthy)
	filter := server.Tools
	server.Tools = bridgeconfig.Tools{}
	var tools []*mcp.Tool
	err := from.with(ctx, server, func(session *mcp.ClientSession) error {
		for tool, err := range session.Tools(ctx, nil) {
			if err != nil {
				return err
			}
			tools = append(tools, tool)
		}
		return nil
	})
	if err != nil {
		s.Error = err.Error()
		return
	}
	s.State = string(health.Healthy)
	for _, tool := range tools {
		if filter.Allows(tool.Name) {
			s.Tools++
		}
	}
	if audited != "" {
		s.Audit = audit(tools, audited)
	}
}

func audit(tools []*mcp.Tool, audited string) string {
	raw := make([][]byte, len(tools))
	for i, tool := range tools {
		raw[i], _ = json.Marshal(tool) // It came as JSON.
	}
	if hash, err := bridgeconfig.ToolsHash(raw); err != nil || hash != audited {
		return auditChanged
	}
	return auditSame
}

func printStatuses(out io.Writer, states []serverStatus) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "SERVER\tTRANSPORT\tSTATE\tTOOLS\tNOTE")
	for _, st := range states {
		note := st.Error
		switch {
		case len(st.MissingSecrets) > 0:
			note = strings.Join(st.Remedies, "; ")
		case len(st.Unreadable) > 0:
			note = "unlock the keyring, which has " + strings.Join(st.Unreadable, ", ")
		case st.Audit == auditChanged:
			note = "its tools are not those that the recipe's publisher audited"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", st.Name, st.Transport, st.State, st.Tools, note)
	}
	return w.Flush()
}

// with runs f with a client of one server alone, which a bridge of its own
// starts: so everything that is configured holds, and names have no prefix.
func (s setup) with(ctx context.Context, server bridgeconfig.Server, f func(*mcp.ClientSession) error) error {
	c := s.config
	c.Mode, c.Servers = bridgeconfig.Direct, []bridgeconfig.Server{server}
	b := bridge.New(ctx, c, bridge.Options{Log: slog.New(slog.DiscardHandler), SaveSecret: s.save, Turn: s.turn})
	defer b.Close()
	b.UseSecrets(s.set())
	in, toBridge := io.Pipe()
	fromBridge, out := io.Pipe()
	serving := make(chan struct{})
	go func() {
		defer close(serving)
		_ = b.ServeStdio(ctx, in, out) // ends with the session
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "hosted-bridge-cli", Version: version.String()}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: fromBridge, Writer: toBridge}, nil)
	if err == nil {
		err = f(session)
		_ = session.Close()
	}
	if err != nil {
		if known := b.Health().Servers[server.Name].Error; known != "" {
			err = errors.New(known)
		}
	}
	b.Close()
	<-serving
	return err
}

// newCall returns the command that calls one tool.
func newCall() *cobra.Command {
	var path, arguments string
	timeout := 5 * time.Minute
	c := &cobra.Command{
		Use:   "call SERVER TOOL",
		Short: "Call a tool and print its result",
		Long:  "Call a tool and print its result as JSON. The exit code is 1 if the result is an error.",
		Args:  cobra.ExactArgs(2),
		RunE: withMachine(&path, func(c *cobra.Command, m *machine, args []string) error {
			if doc, err := jsondoc.Parse([]byte(arguments)); err != nil || doc.Kind != jsondoc.Object {
				return errors.New("--args is not JSON, or not a JSON object")
			}
			s, server, err := m.loadServer(c.Context(), args[0])
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			return s.with(ctx, server, func(session *mcp.ClientSession) error {
				return call(ctx, c.OutOrStdout(), session, &mcp.CallToolParams{Name: args[1], Arguments: json.RawMessage(arguments)})
			})
		}),
	}
	configFlag(c, &path)
	c.Flags().StringVar(&arguments, "args", "{}", "the tool's arguments, as a JSON object")
	c.Flags().DurationVar(&timeout, "timeout", timeout, "how long the call may take, including the start of the server")
	return c
}

func call(ctx context.Context, out io.Writer, session *mcp.ClientSession, params *mcp.CallToolParams) error {
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return err
	}
	printed, err := jsondoc.Encode(result) // which writes text as people read it
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	if _, err := out.Write(printed.Indented()); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	if result.IsError {
		return ErrSilent
	}
	return nil
}
