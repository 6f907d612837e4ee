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

var verifyCommand = command{
	summary: "open everything that is sealed, and say what does not open",
	usage: `Open every secret of every HostedBridge, and say by its name which does not
open. No value is kept or shown.

Usage: keybroker verify [--namespace=NS [--name=HB]] [-o json]

The exit code is 1 when a secret does not open, or when that cannot be seen.
`,
	prepare: prepareVerify,
}

func prepareVerify(o *Options, fs *setting.Set) runner {
	v := recovery.Verification{}
	fs.StringVarP(&v.Namespace, "namespace", "n", "", "namespace of the HostedBridges (default: all)")
	fs.String(&v.Name, "name", "", "name of one HostedBridge (default: all)")
	fs.Check(func() error {
		if v.Name != "" && v.Namespace == "" {
			return errors.New("--name: --namespace is empty; give it too")
		}
		return nil
	})
	var format string
	fs.OutputFormat(&format)
	o.inherit(fs)
	return func(ctx context.Context, s streams) error {
		return installation.Attend(ctx, o.installation(), func(ctx context.Context, i *installation.Installation) error {
			v.Installation, v.Store = i, i.Store
			report, err := v.Run(ctx)
			if err != nil {
				return err
			}
			if err := printReport(s.out, format, report, report.Print); err != nil {
				return err
			}
			if !report.OK() {
				return errors.New("not everything opens")
			}
			return nil
		})
	}
}
