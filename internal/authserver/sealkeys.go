// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

const (
	// periodLength is how long logins are sealed by one key. The key is kept for as long as
	// a login that began at the end of the period may take, and some for replicas whose
	// clocks differ.
	periodLength = 24 * time.Hour
	// keySize is that of AES-256, in bytes.
	keySize = 32
	// keyFor is how long a replica uses a key before it reads the store again, in
	// which another replica may have replaced a key that was lost.
	keyFor = time.Minute
)

// sealKeys seals logins, by a key that all replicas share: the first that needs it puts
// it into the store. An attacker who reads the store could open the cookies of logins that are
// under way, but would need the people's browsers too.
type sealKeys struct {
	store  flow.Store
	random io.Reader
	now    func() time.Time

	mu   sync.Mutex
	keys map[string]cachedKey
}

// newSealKeys returns the keys of a store, by the system's randomness and clock.
func newSealKeys(store flow.Store, random io.Reader, now func() time.Time) *sealKeys {
	return &sealKeys{store: store, random: random, now: now, keys: map[string]cachedKey{}}
}

// cachedKey is a key, and until when it is used without another look.
type cachedKey struct {
	key   []byte
	until time.Time
}

// periodOf names the period of a time.
func periodOf(at time.Time) string {
	return strconv.FormatInt(at.Unix()/int64(periodLength.Seconds()), 10)
}

// Seal returns a text that only a replica of this installation can open or change.
func (k *sealKeys) Seal(ctx context.Context, value []byte) (string, error) {
	period := periodOf(k.now())
	key, err := k.keyOf(ctx, period, k.create)
	if err != nil {
		return "", err
	}
	e, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.DIRECT, Key: key, KeyID: period},
		&jose.EncrypterOptions{Compression: jose.DEFLATE})
	if err != nil {
		return "", fmt.Errorf("encrypt: %w", err)
	}
	sealed, err := e.Encrypt(value)
	if err != nil {
		return "", fmt.Errorf("encrypt: %w", err)
	}
	return sealed.CompactSerialize()
}

// Open returns what Seal sealed in this period or the one before, or flow.ErrNotFound.
func (k *sealKeys) Open(ctx context.Context, text string) ([]byte, error) {
	sealed, err := jose.ParseEncryptedCompact(text, []jose.KeyAlgorithm{jose.DIRECT}, []jose.ContentEncryption{jose.A256GCM})
	if err != nil {
		return nil, flow.ErrNotFound
	}
	period, now := sealed.Header.KeyID, k.now()
	if period != periodOf(now) && period != periodOf(now.Add(-periodLength)) && period != periodOf(now.Add(periodLength)) {
		return nil, flow.ErrNotFound
	}
	key, err := k.keyOf(ctx, period, k.read)
	if err != nil {
		return nil, err
	}
	value, err := sealed.Decrypt(key)
	if err != nil {
		return nil, flow.ErrNotFound
	}
	return value, nil
}

// keyOf returns the key of a period, by get if it was not read a moment ago.
func (k *sealKeys) keyOf(ctx context.Context, period string, get func(context.Context, string) ([]byte, error)) ([]byte, error) {
	k.mu.Lock()
	known := k.keys[period]
	k.mu.Unlock()
	if k.now().Before(known.until) {
		return known.key, nil
	}
	key, err := get(ctx, period)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for other, found := range k.keys {
		if !k.now().Before(found.until) {
			delete(k.keys, other)
		}
	}
	k.keys[period] = cachedKey{key, k.now().Add(keyFor)}
	return key, nil
}

// read returns the key of a period, or flow.ErrNotFound.
func (k *sealKeys) read(ctx context.Context, period string) ([]byte, error) {
	key, err := k.store.Get(ctx, flow.KindKey, period)
	if err != nil {
		return nil, fmt.Errorf("read the key of logins: %w", err)
	}
	return key, nil
}

// create returns the key of a period, which it makes if the store has none.
func (k *sealKeys) create(ctx context.Context, period string) ([]byte, error) {
	key, err := k.read(ctx, period)
	if !errors.Is(err, flow.ErrNotFound) {
		return key, err
	}
	key = make([]byte, keySize)
	if _, err := io.ReadFull(k.random, key); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	err = k.store.Put(ctx, flow.KindKey, period, key, k.now().Add(2*periodLength))
	if errors.Is(err, flow.ErrExists) {
		return k.read(ctx, period) // Another replica was first.
	}
	if err != nil {
		return nil, fmt.Errorf("store the key of logins: %w", err)
	}
	return key, nil
}
