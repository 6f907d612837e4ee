// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/netguard"
)

// catalogTimeout limits a download. mcp-bridge has the same limit.
const catalogTimeout = 5 * time.Second

// Catalog is a source of recipes.
type Catalog struct {
	base string
}

// OpenCatalog returns the catalog at this URL. Without TLS it must be on this machine: an attacker
// in the network could replace a recipe by an older or another one with a valid signature.
func OpenCatalog(base string) (Catalog, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return Catalog{}, errors.New("the catalog's address is not a URL such as https://catalog.example.com")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !netguard.IsLoopback(u.Hostname())) {
		return Catalog{}, errors.New("a catalog that is not on this machine must be at an https URL")
	}
	return Catalog{base: strings.TrimRight(base, "/")}, nil
}

// Download returns the recipe of this id.
func (c Catalog) Download(ctx context.Context, id string) (recipe.Document, error) {
	b, err := c.get(ctx, "/api/recipes/"+url.PathEscape(id)+"/download", recipe.MaxBytes)
	if errors.Is(err, errNotThere) {
		return recipe.Document{}, fmt.Errorf("the catalog has no recipe %q; bridge search finds recipes", id)
	}
	if err != nil {
		return recipe.Document{}, fmt.Errorf("download the recipe: %w", err)
	}
	d, err := recipe.Parse(b)
	if err != nil {
		return recipe.Document{}, err
	}
	if d.Recipe.ID != id {
		return recipe.Document{}, fmt.Errorf("the catalog has sent the recipe %q for %q", d.Recipe.ID, id)
	}
	return d, nil
}

// Key returns the key that verifies the catalog's own recipes, those of the publisher
// recipe.InstallationPublisher.
func (c Catalog) Key(ctx context.Context) (ed25519.PublicKey, error) {
	b, err := c.get(ctx, "/catalog-key", longestKey)
	if err != nil {
		return nil, fmt.Errorf("get the catalog's own key: %w", err)
	}
	var said struct {
		PublicKey string `json:"publicKey"`
	}
	if err := json.Unmarshal(b, &said); err != nil {
		return nil, errors.New("get the catalog's own key: the answer is not JSON")
	}
	return recipe.ParseKey(said.PublicKey)
}

// longestKey and longestList limit answers of the catalog, in bytes.
const (
	longestKey  = 4 << 10
	longestList = 4 << 20
)

// Listed is a recipe in a list of the catalog.
type Listed struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Description  string   `json:"description"`
	Version      string   `json:"version"`
	Category     string   `json:"category,omitempty"`
	Transports   []string `json:"transports,omitempty"`
	AuthRequired bool     `json:"authRequired"`
	AuthSummary  string   `json:"authSummary,omitempty"`
	HostedSafe   bool     `json:"hostedSafe"`
	// Checked is read if the recipe's facts were only read, and its server never called.
	Checked string `json:"checked,omitempty"`
	// Here says whether the hosted bridges of the catalog's installation can run it.
	Here *struct {
		Runs bool   `json:"runs"`
		Why  string `json:"why,omitempty"`
	} `json:"here,omitempty"`
	Deprecated *struct {
		Reason     string `json:"reason,omitempty"`
		ReplacedBy string `json:"replacedBy,omitempty"`
	} `json:"deprecated,omitempty"`
}

// Listing is a page of a list.
type Listing struct {
	Recipes []Listed `json:"recipes"`
	Total   int      `json:"total"`
}

// List returns the recipes that a query selects, with the parameters of GET /recipes.
func (c Catalog) List(ctx context.Context, query url.Values) (Listing, error) {
	b, err := c.get(ctx, "/recipes?"+query.Encode(), longestList)
	if err != nil {
		return Listing{}, fmt.Errorf("list recipes: %w", err)
	}
	var l Listing
	if err := json.Unmarshal(b, &l); err != nil {
		return Listing{}, errors.New("list recipes: the catalog's answer is not a list of recipes")
	}
	return l, nil
}

// errNotThere is a 404 of the catalog.
var errNotThere = errors.New("the catalog answers 404 Not Found")

// get returns the body of a successful answer, of at most so many bytes.
func (c Catalog) get(ctx context.Context, target string, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, catalogTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+target, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	client := &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > 3 || r.URL.Scheme != "https" && !netguard.IsLoopback(r.URL.Hostname()) {
				return errors.New("the catalog leads elsewhere without TLS")
			}
			return nil
		},
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, errNotThere
	default:
		return nil, fmt.Errorf("the catalog answers %s", resp.Status)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("the catalog's answer is longer than %d bytes", most)
	}
	return b, err
}

// Trust records which publishers and recipes this machine has accepted.
type Trust struct {
	path string
}

// OpenTrust returns the records in this state folder.
func OpenTrust(folder string) *Trust { return &Trust{path: filepath.Join(folder, "recipes.json")} }

// notes is the file of a Trust.
type notes struct {
	// Keys are the first accepted public keys, by catalog and publisher.
	Keys map[string]string `json:"keys"`
	// Recipes are the installed recipes, by catalog and id.
	Recipes map[string]installed `json:"recipes"`
	// ToolsHash are the hashes of audited tools, by the server's name.
	ToolsHash map[string]string `json:"toolsHash"`
	// Secrets are the names of secrets that recipes introduced, by the server's name.
	Secrets map[string][]string `json:"secrets,omitempty"`
}

// installed is the record of one recipe.
type installed struct {
	SignedAt string `json:"signedAt"`
	// Publisher is the recipe's signer. It is empty in older records.
	Publisher string `json:"publisher,omitempty"`
	// Seen are the hashes of the accepted signatures, the newest last. An older signature is a
	// replay, even if its time is newer: the signature does not cover the time.
	Seen []string `json:"seen"`
}

// maxSeen limits the remembered signatures of a recipe.
const maxSeen = 64

func (t *Trust) load() (notes, error) {
	n := notes{}
	if err := readNotes(t.path, &n); err != nil {
		return n, fmt.Errorf("read what is known of recipes: %w", err)
	}
	if n.Keys == nil {
		n.Keys = map[string]string{}
	}
	if n.Recipes == nil {
		n.Recipes = map[string]installed{}
	}
	if n.ToolsHash == nil {
		n.ToolsHash = map[string]string{}
	}
	if n.Secrets == nil {
		n.Secrets = map[string][]string{}
	}
	return n, nil
}

// change changes the records once, while other processes wait.
func (t *Trust) change(f func(*notes) (changed bool)) error {
	unlock, err := lock(t.path)
	if err != nil {
		return err
	}
	defer unlock()
	n, err := t.load()
	if err != nil || !f(&n) {
		return err
	}
	return t.save(n)
}

func (t *Trust) save(n notes) error {
	doc, err := jsondoc.Encode(n)
	if err != nil {
		return fmt.Errorf("encode what is known of recipes: %w", err)
	}
	return WriteFile(t.path, doc.Indented())
}

// Claim is a recipe to install, with the permissions of the user.
type Claim struct {
	Catalog  Catalog
	Document recipe.Document
	// Key is the publisher's key if the user gave one, else nil.
	Key ed25519.PublicKey
	// AllowUnsigned accepts a recipe without a signature.
	AllowUnsigned bool
	// NewPublisher accepts a recipe of another publisher than that of the installed recipe.
	NewPublisher bool
	// Secrets are the names of secrets that the recipe introduces.
	Secrets []string
}

// ahead is the accepted difference between a signature's time and the local clock: time zones and
// wrong clocks.
const ahead = 24 * time.Hour

// Knows reports whether the key of the recipe's publisher is known.
func (t *Trust) Knows(c Claim) (bool, error) {
	n, err := t.load()
	return c.Document.Recipe.Signature != nil && n.Keys[c.publisher()] != "", err
}

// Check verifies a recipe's signature with the known key of its publisher, or with the given key,
// which is known from then on. It refuses a recipe that is older than the installed one. Remember
// records the result.
func (t *Trust) Check(c Claim) error {
	n, err := t.load()
	if err != nil {
		return err
	}
	s := c.Document.Recipe.Signature
	if s == nil {
		if before := n.Recipes[c.id()]; len(before.Seen) > 0 {
			return errors.New("the recipe is not signed, and the one that was installed is")
		}
		if !c.AllowUnsigned {
			return errors.New("the recipe is not signed; --allow-unsigned takes it all the same")
		}
		return nil
	}
	key, err := n.key(c, s.PublisherID)
	if err != nil {
		return err
	}
	if err := recipe.Verify(c.Document.Source, key); err != nil {
		return err
	}
	before := n.Recipes[c.id()].Publisher
	if before != "" && before != s.PublisherID && !c.NewPublisher {
		return fmt.Errorf("the recipe is of the publisher %.80q, and the one that was installed is of %.80q; --new-publisher takes it all the same", s.PublisherID, before)
	}
	return n.fresh(c, *s)
}

func (c Claim) id() string { return c.Catalog.base + " " + c.Document.Recipe.ID }

func (c Claim) publisher() string {
	return c.Catalog.base + " " + c.Document.Recipe.Signature.PublisherID
}

// key returns the key for the verification.
func (n notes) key(c Claim, publisher string) (ed25519.PublicKey, error) {
	known := n.Keys[c.publisher()]
	switch {
	case known == "" && c.Key == nil:
		return nil, fmt.Errorf("the key of the publisher %.80q is not known; give it with --key", publisher)
	case known == "":
		return c.Key, nil
	}
	key, err := recipe.ParseKey(known)
	if err != nil {
		return nil, err
	}
	if c.Key != nil && !c.Key.Equal(key) {
		return nil, fmt.Errorf("the key is not the one by which the publisher %.80q is known; bridge forget-publisher forgets that one", publisher)
	}
	return key, nil
}

// fresh refuses a signature that is older than that of the installed recipe.
func (n notes) fresh(c Claim, s recipe.Signature) error {
	at, err := recipe.SignedAt(s)
	if err != nil {
		return err
	}
	if at.After(time.Now().Add(ahead)) {
		return fmt.Errorf("the recipe is signed at %s, which is yet to come", s.SignedAt)
	}
	before, there := n.Recipes[c.id()]
	if !there || len(before.Seen) == 0 {
		return nil
	}
	fingerprint := fingerprintOf(s)
	if i := slices.Index(before.Seen, fingerprint); i >= 0 && i < len(before.Seen)-1 {
		return errors.New("the recipe is one that was installed before the present one")
	}
	if last, err := recipe.SignedAt(recipe.Signature{SignedAt: before.SignedAt}); err == nil && at.Before(last) {
		return fmt.Errorf("the recipe was signed at %s, before the one that is installed", s.SignedAt)
	}
	return nil
}

func fingerprintOf(s recipe.Signature) string {
	sum := sha256.Sum256([]byte(s.Value))
	return hex.EncodeToString(sum[:16])
}

// Remember records that a checked recipe is installed as this server.
func (t *Trust) Remember(c Claim, server string) error {
	return t.change(func(n *notes) bool {
		n.remember(c, server)
		return true
	})
}

func (n *notes) remember(c Claim, server string) {
	delete(n.ToolsHash, server)
	if i := c.Document.Recipe.Install; i != nil && i.ToolsHash != "" {
		n.ToolsHash[server] = i.ToolsHash
	}
	delete(n.Secrets, server)
	if len(c.Secrets) > 0 {
		n.Secrets[server] = c.Secrets
	}
	s := c.Document.Recipe.Signature
	if s == nil {
		return
	}
	if c.Key != nil {
		n.Keys[c.publisher()] = recipe.FormatKey(c.Key)
	}
	seen := slices.DeleteFunc(n.Recipes[c.id()].Seen, func(f string) bool { return f == fingerprintOf(*s) })
	seen = append(seen, fingerprintOf(*s))
	n.Recipes[c.id()] = installed{SignedAt: s.SignedAt, Publisher: s.PublisherID, Seen: seen[max(0, len(seen)-maxSeen):]}
}

// Brought returns the names of all secrets that recipes introduced.
func (t *Trust) Brought() ([]string, error) {
	n, err := t.load()
	return slices.Concat(slices.Collect(maps.Values(n.Secrets))...), err
}

// Forget removes the key of a publisher at every catalog. It reports whether there was a key.
func (t *Trust) Forget(publisher string) (found bool, err error) {
	err = t.change(func(n *notes) bool {
		for id := range n.Keys {
			if strings.HasSuffix(id, " "+publisher) {
				delete(n.Keys, id)
				found = true
			}
		}
		return found
	})
	return found, err
}

// ToolsHash returns the hash of the audited tools, empty if the server's recipe has none.
func (t *Trust) ToolsHash(server string) (string, error) {
	n, err := t.load()
	return n.ToolsHash[server], err
}

// ForgetServer removes the records of a removed server.
func (t *Trust) ForgetServer(server string) error {
	return t.change(func(n *notes) bool {
		_, audited := n.ToolsHash[server]
		_, brought := n.Secrets[server]
		delete(n.ToolsHash, server)
		delete(n.Secrets, server)
		return audited || brought
	})
}
