// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command planes starts control planes for the API server tests of several packages to
// share, each in a folder of the one that its first argument names. Its second argument
// is their number. It prints a line when they serve, and ends them when its standard
// input ends or when it is told to: they would outlive it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "planes:", err)
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader, stdout io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) != 2 {
		return errors.New("usage: planes FOLDER NUMBER")
	}
	number, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("%q is no number: %w", args[1], err)
	}
	// What another run has left here is reached no more.
	if err := os.RemoveAll(args[0]); err != nil {
		return err
	}
	environments := make([]*envtest.Environment, number)
	var starts errgroup.Group
	for i := range environments {
		starts.Go(func() (err error) {
			environments[i], err = testenv.Share(filepath.Join(args[0], strconv.Itoa(i)))
			return err
		})
	}
	err = starts.Wait()
	if err == nil {
		_, err = fmt.Fprintln(stdout, "ready")
	}
	if err == nil {
		err = awaitEnd(ctx, stdin)
	}
	for _, e := range environments {
		if e != nil {
			err = errors.Join(err, e.Stop())
		}
	}
	return errors.Join(err, os.RemoveAll(args[0]))
}

// awaitEnd returns when the input or the context ends.
func awaitEnd(ctx context.Context, input io.Reader) error {
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, input)
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}
