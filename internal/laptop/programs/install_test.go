// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestATreeWithPackagesOfAnotherSystemIsRefused(t *testing.T) {
	t.Parallel()
	for member, want := range map[string]bool{
		`"os":["linux"]`: true, `"os":"linux"`: true, `"os":["any"]`: true, `"os":["!win32"]`: true, `"cpu":["arm64","x64"]`: true, `"libc":["glibc"]`: true, `"bin":{}`: true,
		`"os":["darwin"]`: false, `"os":["!linux"]`: false, `"cpu":["x64"]`: false, `"libc":["musl"]`: false, `"os":["linux"],"cpu":"ia32"`: false,
	} {
		dir := t.TempDir()
		must.Succeed(t, os.Mkdir(filepath.Join(dir, "node_modules"), 0o700))
		text := `{"packages":{"node_modules/one":{"version":"1.0.0"},"node_modules/native":{` + member + `}}}`
		must.Succeed(t, os.WriteFile(filepath.Join(dir, "node_modules", ".package-lock.json"), []byte(text), 0o600))
		err := checkSystem(dir, "arm64")
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "node_modules/native, which is not for linux on arm64") {
			t.Errorf("%s: %v", member, err)
		}
	}
}
