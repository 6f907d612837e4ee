// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"bytes"
	"log/slog"
	"os"
	"sync"
	"time"
)

const (
	// adminKeyEnv is the variable that holds the admin key where no file does.
	adminKeyEnv = "CATALOG_ADMIN_KEY"
	// minAdminKey is the shortest admin key that is taken, in bytes: 16 random
	// letters have some 95 bits.
	minAdminKey = 16
	// adminKeyEvery is how often the file is looked at; a mounted Secret takes
	// the kubelet about a minute.
	adminKeyEvery = time.Second
)

// AdminKey is the key of the admin surface, from a file or the environment.
type AdminKey struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	looked time.Time
	key    []byte
	why    string
}

// NewAdminKey returns the key that the file at path has, or without a path the
// environment.
func NewAdminKey(path string, log *slog.Logger) *AdminKey {
	k := &AdminKey{path: path, log: log}
	k.Get()
	return k
}

// Get returns the key, or empty if no key can be used. Each new reason why not
// is logged once.
func (k *AdminKey) Get() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := time.Now(); k.looked.IsZero() || (k.path != "" && now.Sub(k.looked) >= adminKeyEvery) {
		first := k.looked.IsZero()
		k.looked = now
		key, why := k.read()
		if why != k.why || first && why != "" {
			k.say(why)
		}
		k.key, k.why = key, why
	}
	return k.key
}

func (k *AdminKey) say(why string) {
	if why == "" {
		k.log.Info("the admin surface is enabled")
		return
	}
	k.log.Warn("the admin surface answers 503", "reason", why)
}

// read returns the key, or why no key can be used. White space around it, such as an
// editor's last newline, is no part of it.
func (k *AdminKey) read() (key []byte, why string) {
	if k.path == "" {
		key = []byte(os.Getenv(adminKeyEnv))
		why = "neither " + adminKeyEnv + " nor --admin-key-file is set"
	} else {
		var err error
		if key, err = os.ReadFile(k.path); err != nil {
			return nil, "cannot read --admin-key-file: " + err.Error()
		}
		why = "--admin-key-file is empty"
	}
	key = bytes.TrimSpace(key)
	switch {
	case len(key) == 0:
		return nil, why
	case len(key) < minAdminKey:
		return nil, "the admin key is shorter than 16 characters"
	}
	return key, ""
}
