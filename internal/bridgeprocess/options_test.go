// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprocess

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/setting"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const goodConfig = `{"userID":"alice","bridgeUID":"uid-1","servers":[]}`

func TestOptions(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, broken, unknown := filepath.Join(folder, "good"), filepath.Join(folder, "broken"), filepath.Join(folder, "unknown")
	for path, content := range map[string]string{file: goodConfig, broken: `{"userID":""}`, unknown: `{"x":1}`} {
		must.Succeed(t, os.WriteFile(path, []byte(content), 0o600))
	}
	pem := map[string]string{"KEYBROKER_CA": "pem"}
	tests := map[string]struct {
		args []string
		env  map[string]string
		want []string // parts of the error; none for success
	}{
		"the defaults with the operator's environment": {[]string{"--config-file=" + file}, pem, nil},
		"nothing from the operator":                    {nil, nil, []string{"--config-file", "KEYBROKER_CA"}},
		"a configuration with an unknown field":        {[]string{"--config-file=" + unknown}, pem, []string{"--config-file", "unknown field"}},
		"a file that is not there":                     {[]string{"--config-file=" + file + "x"}, pem, []string{"--config-file", "no such file"}},
		"a file with a configuration that is not one":  {[]string{"--config-file=" + broken}, pem, []string{"--config-file", "userID"}},
		"no listener":                      {[]string{"--listen=", "--config-file=" + file}, pem, []string{"--listen"}},
		"everything wrong is said at once": {[]string{"--token-file=", "--listen=", "--bundles-url=https://store"}, pem, []string{"--token-file", "--listen", "--bundles-folder"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o Options
			s := setting.New("pod", "")
			o.Declare(s, func(name string) string { return tt.env[name] })
			err := s.Parse(tt.args)
			if (err == nil) != (len(tt.want) == 0) {
				t.Fatalf("error = %v", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not name %s", err, part)
				}
			}
		})
	}
}
