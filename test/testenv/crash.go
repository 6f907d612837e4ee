// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// ErrCrash is what a process that has ended gets of the API server.
var ErrCrash = errors.New("the process ended")

// Crash is the end of a process right after its write number Limit: nothing
// after that is read or written any more.
type Crash struct{ Limit, Writes int }

// Dead reports whether the process has ended.
func (c *Crash) Dead() bool { return c.Writes >= c.Limit }

// Client returns the client of that process.
func (c *Crash) Client(inner client.WithWatch) client.WithWatch {
	return interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if c.Dead() {
				return ErrCrash
			}
			return inner.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, inner client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return c.write(func() error { return inner.Create(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, inner client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return c.write(func() error { return inner.Patch(ctx, o, patch, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, inner client.Client, sub string, o client.Object, patch client.Patch,
			opts ...client.SubResourcePatchOption,
		) error {
			return c.write(func() error { return inner.SubResource(sub).Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, inner client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return c.write(func() error { return inner.Delete(ctx, o, opts...) })
		},
		Apply: func(ctx context.Context, inner client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return c.write(func() error { return inner.Apply(ctx, o, opts...) })
		},
	})
}

func (c *Crash) write(do func() error) error {
	if c.Dead() {
		return ErrCrash
	}
	c.Writes++
	if err := do(); err != nil {
		return err
	}
	if c.Dead() {
		return ErrCrash
	}
	return nil
}
