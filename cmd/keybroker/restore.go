// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/recovery"
)

var restoreCommand = command{
	summary: "seal what a backup holds for the HostedBridges of today",
	usage: `Read a backup of HostedBridges, envelopes and salts from the standard input, as
kubectl get prints it with -o yaml or -o json. Open the secrets as those of the
former HostedBridges, and seal them for those of the same namespace, name and
user that are in the cluster now. No value is shown.

Usage: keybroker restore [--dry-run] [-o json] < backup.yaml

A HostedBridge with the same secrets is left as it is, one with others is
refused; nothing is half restored. The exit code is 1 when anything was not
restored.
`,
	prepare: prepareRestore,
}

func prepareRestore(o *Options, fs *pflag.FlagSet) runner {
	r := recovery.Restoration{}
	fs.BoolVar(&r.DryRun, "dry-run", false, "check everything but write nothing")
	format := outputFlag(fs)
	o.inherit(fs)
	return func(ctx context.Context, s streams) error {
		backup, err := recovery.ReadBackup(s.in)
		if err != nil {
			return err
		}
		return attend(ctx, o, func(ctx context.Context, i *installation) error {
			r.Bridge, r.Store = i.bridge, i.store
			report, err := r.Run(ctx, backup)
			if err := errors.Join(err, format.print(s.out, report, func(w io.Writer) { printRestoration(w, report) })); err != nil {
				return err
			}
			if !report.OK() {
				return errors.New("not everything was restored")
			}
			return nil
		})
	}
}

func printRestoration(w io.Writer, r *recovery.RestorationReport) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	for _, b := range r.Bridges {
		if b.Reason != "" {
			line("%s %s/%s: %s", b.Outcome, b.Namespace, b.Name, b.Reason)
			continue
		}
		line("%s %s/%s: %d secrets", b.Outcome, b.Namespace, b.Name, b.Secrets)
	}
	line("%d restored, %d unchanged, %d skipped, %d refused",
		r.Count(recovery.Restored), r.Count(recovery.Unchanged), r.Count(recovery.Skipped), r.Count(recovery.Refused))
	if r.DryRun {
		line("nothing was written")
	}
}
