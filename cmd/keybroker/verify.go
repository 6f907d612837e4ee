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

var verifyCommand = command{
	summary: "open everything that is sealed, and say what does not open",
	usage: `Open every secret of every HostedBridge, and say by its name which does not
open. No value is kept or shown.

Usage: keybroker verify [--namespace=NS [--name=HB]] [-o json]

The exit code is 1 when a secret does not open, or when that cannot be seen.
`,
	prepare: prepareVerify,
}

func prepareVerify(o *Options, fs *pflag.FlagSet) runner {
	v := recovery.Verification{}
	fs.StringVarP(&v.Namespace, "namespace", "n", "", "namespace of the HostedBridges (default: all)")
	fs.StringVar(&v.Name, "name", "", "name of one HostedBridge (default: all)")
	format := outputFlag(fs)
	o.inherit(fs)
	return func(ctx context.Context, s streams) error {
		if v.Name != "" && v.Namespace == "" {
			return fmt.Errorf("--name needs --namespace: %w", errUsage)
		}
		return attend(ctx, o, func(ctx context.Context, i *installation) error {
			v.Installation, v.Store = i, i.store
			report, err := v.Run(ctx)
			if err != nil {
				return err
			}
			if err := format.print(s.out, report, func(w io.Writer) { printVerification(w, report) }); err != nil {
				return err
			}
			if !report.OK() {
				return errors.New("not everything opens")
			}
			return nil
		})
	}
}

func printVerification(w io.Writer, r *recovery.VerificationReport) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	line("%s", r)
	for _, secret := range r.Unreadable {
		line("does not open: %s", secret)
	}
	for _, bridge := range r.SaltMissing {
		line("has secrets and no salt: %s", bridge)
	}
	for _, bridge := range r.NotOwned {
		line("its Secret belongs to something else: %s", bridge)
	}
	for _, secret := range r.Orphans {
		line("its HostedBridge is gone: Secret %s", secret)
	}
	if r.OK() {
		line("everything opens")
	}
}
