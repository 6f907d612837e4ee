// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

// The files of a ring beside its versions. A replica that finds any other file
// does not load the ring.
const (
	currentFile   = "current"
	minimumFile   = "minimum"
	authorityFile = "authority"
	loginFile     = "login"
)

// SecretClient is the Secrets of the API server, live. PatchSecret sets these
// keys and removes those without a value; it is a conflict if the Secret is
// not as it was read.
type SecretClient interface {
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	PatchSecret(ctx context.Context, secret *corev1.Secret, data map[string][]byte) (*corev1.Secret, error)
}

// SecretRing is a local ring that is mounted from a Secret. It is for one
// goroutine.
type SecretRing struct {
	Secrets         SecretClient
	Namespace, Name string
	// Random gives the keys.
	Random io.Reader

	read *corev1.Secret
}

// State implements Ring.
func (s *SecretRing) State(ctx context.Context) (RingState, error) {
	secret, err := s.Secrets.Secret(ctx, s.Namespace, s.Name)
	if apierrors.IsNotFound(err) {
		return RingState{}, refusal(fmt.Sprintf(`there is no Secret %s/%s: name the ring's by --secret, or give --secret="" if it comes from elsewhere`, s.Namespace, s.Name))
	}
	if err != nil {
		return RingState{}, fmt.Errorf("read the ring: %w", err)
	}
	s.read = secret
	state, err := parseRing(secret.Data)
	if err != nil {
		return RingState{}, fmt.Errorf("read the ring in Secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	return state, nil
}

// parseRing reads the names of a ring's versions, and never the keys. It
// refuses what replicas would refuse to load, and does not quote it.
func parseRing(data map[string][]byte) (RingState, error) {
	versions, err := parseVersions(data)
	if err != nil {
		return RingState{}, err
	}
	state := RingState{Provider: envelope.AlgorithmLocal.String(), Versions: versions}
	current, err := parseFile(data, currentFile, state.highest())
	minimum, other := parseFile(data, minimumFile, 1)
	if err := errors.Join(err, other, checkLogin(data)); err != nil {
		return RingState{}, err
	}
	state.Current, state.Minimum = current, minimum
	if !slices.Contains(state.Versions, state.Current) || state.Minimum > state.Current {
		return RingState{}, fmt.Errorf("the ring contradicts itself: %s", state)
	}
	return state, nil
}

// parseVersions returns the versions that the ring has a key for, in order.
func parseVersions(data map[string][]byte) ([]uint32, error) {
	var versions []uint32
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if slices.Contains([]string{currentFile, minimumFile, authorityFile, loginFile}, name) {
			continue
		}
		version, ok := parseVersion(name)
		if !ok {
			errs = append(errs, fmt.Errorf("%q is neither a version nor another file of a ring", name))
		}
		versions = append(versions, version)
	}
	if len(versions) == 0 {
		errs = append(errs, errors.New("there is no master key"))
	}
	slices.Sort(versions)
	return versions, errors.Join(errs...)
}

// parseFile returns the version in a file, and the default without the file.
func parseFile(data map[string][]byte, name string, byDefault uint32) (uint32, error) {
	content, found := data[name]
	if !found {
		return byDefault, nil
	}
	version, ok := parseVersion(trimLineEnd(content))
	if !ok {
		return 0, fmt.Errorf("the content of %q is not a version", name)
	}
	return version, nil
}

// checkLogin checks the one file that a rotation does not change and replicas
// read as a number: the generation of login keys, which may be 0.
func checkLogin(data map[string][]byte) error {
	content, found := data[loginFile]
	if _, ok := parseVersion(trimLineEnd(content)); !found || ok || trimLineEnd(content) == "0" {
		return nil
	}
	return fmt.Errorf("the content of %q is not a number", loginFile)
}

func trimLineEnd(content []byte) string {
	if n := len(content); n > 0 && content[n-1] == '\n' {
		content = content[:n-1]
	}
	return string(content)
}

func parseVersion(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 31) // The API shows it as an int32.
	if err != nil || n == 0 || n > math.MaxInt32 || strconv.FormatUint(n, 10) != s {
		return 0, false
	}
	return uint32(n), true
}

// Do implements Ring.
func (s *SecretRing) Do(ctx context.Context, step Step, state RingState) error {
	data, err := s.change(step, state)
	if err != nil {
		return err
	}
	_, err = s.Secrets.PatchSecret(ctx, s.read, data)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ErrOvertaken
	}
	if err != nil {
		return fmt.Errorf("%s: patch Secret %s/%s: %w", step.describe(state), s.Namespace, s.Name, err)
	}
	return nil
}

// change returns what a step writes. Each step is one write, after which the
// ring is complete: a reader sees the state before or the state after.
func (s *SecretRing) change(step Step, state RingState) (map[string][]byte, error) {
	version := targetVersion(step, state)
	switch step {
	case StepAdd:
		if version > math.MaxInt32 {
			return nil, refusal("there is no higher version than the newest")
		}
		key := make([]byte, envelope.KeySize)
		if _, err := io.ReadFull(s.Random, key); err != nil {
			return nil, fmt.Errorf("choose a key: %w", err)
		}
		defer clear(key)
		return map[string][]byte{
			fileName(version): []byte(base64.StdEncoding.EncodeToString(key)),
			// Without this, the first replica to see the version would seal
			// with it, and the others could not open that yet.
			currentFile: []byte(fileName(state.Current)),
		}, nil
	case StepSetCurrent:
		return map[string][]byte{currentFile: []byte(fileName(version))}, nil
	case StepSetMinimum:
		return map[string][]byte{currentFile: []byte(fileName(version)), minimumFile: []byte(fileName(version))}, nil
	case stepRetire:
		data := map[string][]byte{}
		for _, old := range state.retired() {
			data[fileName(old)] = nil
		}
		return data, nil
	default:
		return nil, fmt.Errorf("%s changes nothing", step.describe(state))
	}
}

func fileName(version uint32) string { return strconv.FormatUint(uint64(version), 10) }
