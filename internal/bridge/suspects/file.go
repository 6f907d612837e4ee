// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package suspects

import (
	"fmt"
	"log/slog"
	"os"
)

// File returns a function that replaces the content of the file, and one that closes the file. The
// kubelet makes it; the process does not.
func File(path string, log *slog.Logger) (write func(text string), closed func() error, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open the termination message file: %w", err)
	}
	write = func(text string) {
		// The process may be killed between the two, so the text comes first.
		_, err := f.WriteAt([]byte(text), 0)
		if err == nil {
			err = f.Truncate(int64(len(text)))
		}
		if err != nil {
			log.Debug("the termination message cannot be written", "error", err)
		}
	}
	return write, f.Close, nil
}
