// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/installation"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/recovery"
	"github.com/hostedbridge/hostedbridge/internal/setting"
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

func prepareRestore(o *Options, fs *setting.Set) runner {
	r := recovery.Restoration{}
	fs.Bool(&r.DryRun, "dry-run", false, "check everything but write nothing")
	var format string
	fs.OutputFormat(&format)
	o.inherit(fs)
	return func(ctx context.Context, s streams) error {
		backup, err := recovery.ReadBackup(s.in)
		if err != nil {
			return err
		}
		return installation.Attend(ctx, o.installation(), func(ctx context.Context, i *installation.Installation) error {
			r.Bridge, r.Store = i.Find, i.Store
			report, err := r.Run(ctx, backup)
			if err := errors.Join(err, printReport(s.out, format, report, report.Print)); err != nil {
				return err
			}
			if !report.OK() {
				return errors.New("not everything was restored")
			}
			return nil
		})
	}
}
