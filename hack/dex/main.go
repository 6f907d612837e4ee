// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command dex is dex's server with local passwords, in memory, for `make test-identity`
// alone. It is a module of its own, so that nothing of dex is in the product's dependencies.
//
// It reads the settings of test/e2e/clients/identity.mjs and takes the same POST of
// /people?name=NAME: {"groups": [...]} sets the groups of a person, and {"closed": true}
// deletes their password, as DeletePassword of dex's API does. That API has no groups. The
// user id of a person is their name, and their password is "password". Where no comment
// gives a reason, dex is set up as its command does without further settings.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/server/connectors"
	"github.com/dexidp/dex/server/signer"
	"github.com/dexidp/dex/server/tokens"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"golang.org/x/crypto/bcrypt"
)

// Of dex's command, without further settings.
const (
	idTokens     = 24 * time.Hour
	keysRotation = "6h"
)

type settings struct {
	Issuer string
	Port   int
	Client struct{ ID, SecretFile, RedirectURI string }
}

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "dex:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s settings
	if err := json.Unmarshal(content, &s); err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	store, err := open(s, log)
	if err != nil {
		return err
	}
	dex, err := start(ctx, s, store, log)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", dex)
	mux.Handle("POST /people", people{store})
	server := &http.Server{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)), Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}

// open returns storage with the client and the connector of local passwords.
func open(s settings, log *slog.Logger) (storage.Storage, error) {
	secret, err := os.ReadFile(s.Client.SecretFile)
	if err != nil {
		return nil, err
	}
	memories := apart{memory.New(log), memory.New(log)}
	store := storage.WithStaticClients(memories, []storage.Client{{
		ID: s.Client.ID, Name: s.Client.ID, Secret: strings.TrimSpace(string(secret)), RedirectURIs: []string{s.Client.RedirectURI},
	}})
	local := storage.Connector{ID: connectors.LocalConnector, Name: "Email", Type: connectors.LocalConnector}
	return storage.WithStaticConnectors(store, []storage.Connector{local}), nil
}

// apart keeps refresh tokens in storage of their own. dex reads other objects while it changes
// a refresh token, and its storage in memory has one lock for all: a refresh would wait for
// itself forever. The other kinds of dex's storage need a server or cgo.
type apart struct {
	storage.Storage
	tokens storage.Storage
}

func (a apart) CreateRefresh(ctx context.Context, t storage.RefreshToken) error {
	return a.tokens.CreateRefresh(ctx, t)
}

func (a apart) GetRefresh(ctx context.Context, id string) (storage.RefreshToken, error) {
	return a.tokens.GetRefresh(ctx, id)
}

func (a apart) ListRefreshTokens(ctx context.Context) ([]storage.RefreshToken, error) {
	return a.tokens.ListRefreshTokens(ctx)
}

func (a apart) DeleteRefresh(ctx context.Context, id string) error {
	return a.tokens.DeleteRefresh(ctx, id)
}

func (a apart) UpdateRefreshToken(
	ctx context.Context, id string, change func(storage.RefreshToken) (storage.RefreshToken, error),
) error {
	return a.tokens.UpdateRefreshToken(ctx, id, change)
}

func start(ctx context.Context, s settings, store storage.Storage, log *slog.Logger) (http.Handler, error) {
	signing := signer.LocalConfig{KeysRotationPeriod: keysRotation}
	signs, err := signing.Open(ctx, store, idTokens, time.Now, log)
	if err != nil {
		return nil, fmt.Errorf("open signer: %w", err)
	}
	refresh, err := tokens.NewRefreshTokenPolicy(log, false, "", "", "")
	if err != nil {
		return nil, fmt.Errorf("make refresh token policy: %w", err)
	}
	return server.NewServer(ctx, server.Config{
		Issuer: s.Issuer, Storage: store, Signer: signs, RefreshTokenPolicy: refresh, IDTokensValidFor: idTokens, Logger: log, Now: time.Now,
	})
}

// people sets what dex knows of a person.
type people struct{ storage.Storage }

func (p people) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var set struct {
		Groups []string
		Closed bool
	}
	if err := json.NewDecoder(r.Body).Decode(&set); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := p.put(r.Context(), r.URL.Query().Get("name"), set.Groups, set.Closed); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (p people) put(ctx context.Context, name string, groups []string, closed bool) error {
	email := name + "@example.com"
	if closed {
		return p.DeletePassword(ctx, email)
	}
	err := p.UpdatePassword(ctx, email, func(old storage.Password) (storage.Password, error) {
		old.Groups = groups
		return old, nil
	})
	if !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	hash, err := bcrypt.GenerateFromPassword([]byte("password"), bcrypt.DefaultCost)
	if err != nil {
		return err
	}
	return p.CreatePassword(ctx, storage.Password{Email: email, Hash: hash, Username: name, UserID: name, Groups: groups})
}
