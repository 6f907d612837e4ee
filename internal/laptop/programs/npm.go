// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
)

// common are the options of each install by the machine's npm: no install script runs, and what
// a person has set for their own projects does not change which packages are installed. Those after --no-audit are defaults, which a person's
// npmrc may have otherwise.
var common = []string{
	"--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--no-progress",
	"--include=optional", "--include=peer", "--package-lock", "--save", "--save-exact", "--save-prod", "--no-global", "--no-dry-run",
	"--install-strategy=hoisted", "--no-legacy-peer-deps", "--no-install-links", "--lockfile-version=3",
}

// killDelay is how long npm's own programs may keep its output open after its end.
const killDelay = 5 * time.Second

// packageName matches the names that npm accepts, also those of before it had capitals refused.
var packageName = regexp.MustCompile(`^(@[A-Za-z0-9~][A-Za-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*$`)

// IsName reports whether a text is the name of a package at a registry.
func IsName(text string) bool { return len(text) <= 214 && packageName.MatchString(text) }

// Available returns an error that says what to do if npm or node is missing.
func Available() error {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s is not on the PATH: install Node.js with npm (https://nodejs.org), and run the command again", program)
		}
	}
	return nil
}

// runNPM runs npm in a folder for a package, which is name@version. It returns what npm wrote. The
// error is a *bundle.Failure if npm refused.
func runNPM(ctx context.Context, dir, wanted string, args ...string) (log string, err error) {
	if err := Available(); err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, "npm", args...) //nolint:gosec // The arguments are options of this package, and a name that IsName has checked.
	c.Dir, c.WaitDelay = dir, killDelay
	out, err := c.CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if _, refused := errors.AsType[*exec.ExitError](err); refused {
		return string(out), bundle.InstallFailure(wanted, string(out))
	}
	if err != nil {
		return string(out), fmt.Errorf("run npm: %w", err)
	}
	return string(out), nil
}
