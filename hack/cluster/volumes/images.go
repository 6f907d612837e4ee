// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package volumes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// smallest is the size below which mkfs makes no file system, in bytes.
const smallest = 1 << 20

// images keeps each volume in a file of its size, which takes as much of the disk as
// is written. Where the machine has no loop devices, a volume is a folder and its
// size is not enforced.
type images struct{ folder string }

func (i images) paths(name string) (image, folder string) {
	return filepath.Join(i.folder, name+".img"), filepath.Join(i.folder, name)
}

// add implements disks.
func (i images) add(ctx context.Context, name string, bytes int64) (string, error) {
	image, folder := i.paths(name)
	if mounted(folder) {
		return folder, nil
	}
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.RemoveAll(image)); err != nil {
		return "", err
	}
	f, err := os.OpenFile(image, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	if err := errors.Join(f.Truncate(max(bytes, smallest)), f.Close()); err != nil {
		return "", err
	}
	// What the cluster writes need not outlive a crash, so a journal is of no use.
	err = command(ctx, "mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", image)
	if err == nil {
		err = command(ctx, "mount", "-o", "loop,nosuid,nodev", image, folder)
	}
	if err != nil {
		log.Printf("volumes: the size of %s is not enforced: %v", name, err)
		return folder, os.RemoveAll(image)
	}
	return folder, nil
}

// remove implements disks.
func (i images) remove(ctx context.Context, name string) error {
	image, folder := i.paths(name)
	if mounted(folder) {
		if err := command(ctx, "umount", folder); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(image)
}

// mounted reports whether a file system is mounted there.
func mounted(folder string) bool {
	content, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && strings.Contains(string(content), " "+folder+" ")
}

func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}
