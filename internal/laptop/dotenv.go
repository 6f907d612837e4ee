// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"fmt"
	"strings"
)

// ReadDotEnv reads the .env file beside a configuration of mcp-bridge. A missing file is empty.
func ReadDotEnv(path string) (map[string]string, error) {
	b, err := readPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("read the secrets beside the configuration: %w", err)
	}
	return parseDotEnv(string(b)), nil
}

// parseDotEnv parses lines of NAME=value. Values may have single or double quotes, in which a
// backslash escapes a quote or backslash. After a value without quotes, a space and # start a
// comment.
func parseDotEnv(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value, found := strings.Cut(line, "=")
		name = strings.TrimSpace(strings.TrimPrefix(name, "export "))
		if !found || name == "" || strings.HasPrefix(line, "#") {
			continue
		}
		values[name] = unquote(strings.TrimSpace(value))
	}
	return values
}

func unquote(value string) string {
	for _, quote := range []string{`"`, `'`} {
		if len(value) >= 2 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) {
			return strings.NewReplacer(`\`+quote, quote, `\\`, `\`).Replace(value[1 : len(value)-1])
		}
	}
	value, _, _ = strings.Cut(value, " #")
	return strings.TrimSpace(value)
}
