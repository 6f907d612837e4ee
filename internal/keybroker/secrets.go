// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/sharing"
)

// openSecrets gives a bridge its own secrets, those of SharedServers that it may have, and the
// keys of its sessions, unless it has them already. A bridge that has the secrets has the keys
// too: they change with the authority alone, and then every pod is restarted.
func (s *Server) openSecrets(ctx context.Context, c *call) (answer, error) {
	grants, err := s.grants(ctx, c)
	if err != nil {
		return answer{}, fmt.Errorf("open secrets: %w", err)
	}
	opened, changed, err := s.openAll(ctx, c.bridge, grants, revision(c.request.Header.Get("If-None-Match")))
	s.metrics.opened(opened, changed, err)
	if err != nil {
		return answer{}, fmt.Errorf("open secrets: %w", err)
	}
	if !changed {
		return answer{status: http.StatusNotModified, etag: etag(opened.Revision)}, nil
	}
	defer opened.Wipe()
	keys, err := s.authority.SessionKeys(string(c.bridge.UID))
	if err != nil {
		return answer{}, fmt.Errorf("open secrets: %w", err)
	}
	defer wipe(keys)
	return answer{status: http.StatusOK, mediaType: "application/json", etag: etag(opened.Revision), body: encodeOpened(opened, keys)}, nil
}

func etag(revision string) string { return `"` + revision + `"` }

// revision returns the revision in an If-None-Match header as our client sends
// it, and nothing for any other form.
func revision(header string) string {
	inner, ok := strings.CutPrefix(header, `"`)
	inner, end := strings.CutSuffix(inner, `"`)
	if !ok || !end || strings.Contains(inner, `"`) {
		return ""
	}
	return inner
}

// encodeOpened returns the answer in JSON. Package json would leave copies of
// the values in buffers that it keeps. Names and base64 need no escapes.
func encodeOpened(opened secretstore.Opened, sessionKeys [][]byte) []byte {
	size := 128
	for name, value := range opened.Values {
		size += len(name) + base64.StdEncoding.EncodedLen(len(value)) + len(`"":"",`)
	}
	for _, name := range opened.Unreadable {
		size += len(name) + len(`"",`)
	}
	for _, key := range sessionKeys {
		size += base64.StdEncoding.EncodedLen(len(key)) + len(`"",`)
	}
	b := make([]byte, 0, size)
	b = append(append(append(b, `{"revision":"`...), opened.Revision...), `","secrets":{`...)
	for i, name := range slices.Sorted(maps.Keys(opened.Values)) {
		b = comma(b, i)
		b = append(append(append(b, '"'), name...), `":"`...)
		b = append(base64.StdEncoding.AppendEncode(b, opened.Values[name]), '"')
	}
	b = append(b, `},"unreadable":[`...)
	for i, name := range opened.Unreadable {
		b = append(append(append(comma(b, i), '"'), name...), '"')
	}
	b = append(b, `],"sessionKeys":[`...)
	for i, key := range sessionKeys {
		b = append(base64.StdEncoding.AppendEncode(append(comma(b, i), '"'), key), '"')
	}
	return append(b, `]}`...)
}

func wipe(keys [][]byte) {
	for _, key := range keys {
		clear(key)
	}
}

func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

// entry is what the ingress sees of a secret.
type entry struct {
	Name       string    `json:"name"`
	Size       int       `json:"size"`
	Created    time.Time `json:"created,omitzero"`
	Updated    time.Time `json:"updated,omitzero"`
	KeyVersion uint32    `json:"keyVersion"`
	Source     string    `json:"source,omitempty"`
}

func newEntry(e secretstore.Entry) entry {
	shown := entry{Name: e.Name, Size: e.Size, Created: e.Created, Updated: e.Updated, KeyVersion: e.Key.Version}
	if e.Managed() {
		shown.Source = e.Source.Secret
	}
	return shown
}

// listSecrets lists the secrets of a user for the ingress.
func (s *Server) listSecrets(ctx context.Context, c *call) (answer, error) {
	limit, err := s.target(ctx, c)
	if err != nil {
		return answer{}, err
	}
	listing, err := s.store.List(ctx, c.bridge)
	if err != nil {
		return answer{}, fmt.Errorf("list secrets: %w", err)
	}
	list := struct {
		Secrets  []entry `json:"secrets"`
		Limit    *int32  `json:"limit"`
		Revision string  `json:"revision"`
	}{Secrets: []entry{}, Limit: limit.secrets, Revision: listing.Revision}
	for _, e := range listing.Entries {
		list.Secrets = append(list.Secrets, newEntry(e))
	}
	return asJSON(http.StatusOK, list)
}

// setSecret stores the body as a secret of the bridge in the path.
func (s *Server) setSecret(ctx context.Context, c *call) (answer, error) {
	defer clear(c.body)
	limit, err := s.target(ctx, c)
	if err != nil {
		return answer{}, err
	}
	listing, created, err := s.set(ctx, c, limit.another)
	if err != nil {
		return answer{}, fmt.Errorf("set secret: %w", err)
	}
	s.metrics.sealed.WithLabelValues(byUser).Inc()
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	stored, _ := listing.Find(c.secret)
	return asJSON(status, newEntry(stored))
}

// saveSecret stores the body as the secret in which a server of the calling
// bridge keeps its login. A bridge can change no other secret: a compromised
// one cannot replace a token that its user has set elsewhere. It replaces a
// login and creates none: a login that the user removed while the bridge
// refreshed it stays removed.
func (s *Server) saveSecret(ctx context.Context, c *call) (answer, error) {
	defer clear(c.body)
	name := c.request.PathValue("secret")
	if !v1alpha1.ValidSecretName(name) {
		return answer{}, errName
	}
	c.secret = name
	bridge, err := s.callers.cluster.Bridge(ctx, c.bridge.Namespace, c.bridge.Name)
	if err != nil {
		return answer{}, absent(err, errBridge, secretstore.BridgeKind, c.bridge.Namespace, c.bridge.Name)
	}
	if bridge.UID != c.bridge.UID {
		return answer{}, fmt.Errorf("%w: HostedBridge %s/%s has another UID", errBridge, c.bridge.Namespace, c.bridge.Name)
	}
	if !keepsLogin(bridge, name) {
		return answer{}, errNotLogin
	}
	if len(c.body) == 0 {
		return answer{}, errEmpty
	}
	removed := func(int) error {
		return errSecretNotFound.Saying("The user has no secret of this name, or not any more; a bridge replaces a login and creates none.")
	}
	listing, _, err := s.set(ctx, c, removed)
	if err != nil {
		return answer{}, fmt.Errorf("save secret: %w", err)
	}
	s.metrics.sealed.WithLabelValues(byBridge).Inc()
	a, err := asJSON(http.StatusOK, struct {
		Revision string `json:"revision"`
	}{listing.Revision})
	a.etag = etag(listing.Revision)
	return a, err
}

// keepsLogin reports whether a server of the bridge keeps the tokens of a login
// in the secret, by the spec or by its recipe.
func keepsLogin(bridge *effective.Bridge, secret string) bool {
	return slices.ContainsFunc(bridge.Spec.Servers, func(server effective.Server) bool {
		if server.Recipe != nil {
			return slices.ContainsFunc(bridge.Status.Recipes, func(r v1alpha1.RecipeStatus) bool {
				return r.Server == server.Name && r.Recipe == server.Recipe.Name && r.TokenSecret == secret
			})
		}
		return server.Auth != nil && server.Auth.OAuth != nil && string(server.Auth.OAuth.TokenSecret) == secret
	})
}

// set stores the body as the secret that the call is about. If the request has
// If-Match, the secrets must still have that revision. another returns an error
// if the user may not have one more than the given number.
func (s *Server) set(ctx context.Context, c *call, another func(secrets int) error) (listing secretstore.Listing, created bool, err error) {
	want := sharing.Own(revision(c.request.Header.Get("If-Match")))
	listing, err = s.store.Update(ctx, c.bridge, func(_ context.Context, current secretstore.Listing, _ func(string) ([]byte, error)) ([]secretstore.Change, error) {
		was, found := current.Find(c.secret)
		created = !found
		if want != "" && want != current.Revision {
			return nil, errRevision
		}
		if was.Managed() {
			return nil, managed(was)
		}
		if created {
			if err := another(len(current.Entries)); err != nil {
				return nil, err
			}
		}
		return []secretstore.Change{{Name: c.secret, Value: c.body, Source: was.Source}}, nil
	})
	return listing, created, err
}

// removeSecret removes a secret of the bridge in the path. A secret that does
// not open can be removed like any other.
func (s *Server) removeSecret(ctx context.Context, c *call) (answer, error) {
	if _, err := s.target(ctx, c); err != nil {
		return answer{}, err
	}
	_, err := s.store.Update(ctx, c.bridge, func(_ context.Context, current secretstore.Listing, _ func(string) ([]byte, error)) ([]secretstore.Change, error) {
		was, found := current.Find(c.secret)
		if !found {
			return nil, errSecretNotFound
		}
		if was.Managed() {
			return nil, managed(was)
		}
		return []secretstore.Change{{Name: c.secret, Delete: true}}, nil
	})
	if err != nil {
		return answer{}, fmt.Errorf("remove secret: %w", err)
	}
	return answer{status: http.StatusNoContent}, nil
}

// managed is the refusal to change a secret that follows its source.
func managed(e secretstore.Entry) error {
	return errManaged.Saying(fmt.Sprintf("This secret comes from the Secret %q by spec.secretRefs; change it there.", e.Source.Secret))
}

// limit is how many secrets a user may have.
type limit struct {
	tier string
	// secrets is nil if there is no limit, and zero in a tier that the
	// installation does not have.
	secrets *int32
	unknown bool
}

// another returns an error if the user may not have one more than this number.
func (l limit) another(secrets int) error {
	if l.unknown {
		return errTierUnknown.Saying(fmt.Sprintf("spec.tier names %q, which is not a tier of this installation. Until an administrator corrects spec.tier, only existing secrets can be changed.", l.tier))
	}
	if l.secrets != nil && secrets >= int(*l.secrets) {
		return errSecretLimit.Saying(fmt.Sprintf("The tier %q allows %d secrets, and there are %d; remove one first.", l.tier, *l.secrets, secrets))
	}
	return nil
}

// target finds the bridge, and the name of the secret, in the path. The UID
// must be that of the current HostedBridge: the ingress may know an earlier
// one.
func (s *Server) target(ctx context.Context, c *call) (limit, error) {
	r := c.request
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return limit{}, errName
	}
	if secret := r.PathValue("secret"); secret != "" {
		if !v1alpha1.ValidSecretName(secret) {
			return limit{}, errName
		}
		c.secret = secret
	}
	if !s.callers.watched.Contain(namespace) {
		return limit{}, fmt.Errorf("%w: %s is not one of the installation's namespaces", errBridgeNotFound, namespace)
	}
	bridge, err := s.callers.cluster.Bridge(ctx, namespace, name)
	if err != nil {
		return limit{}, absent(err, errBridgeNotFound, secretstore.BridgeKind, namespace, name)
	}
	if bridge.UID != types.UID(r.PathValue("uid")) {
		return limit{}, fmt.Errorf("%w: HostedBridge %s/%s has another UID", errBridgeNotFound, namespace, name)
	}
	if bridge.DeletionTimestamp != nil {
		return limit{}, fmt.Errorf("%w: HostedBridge %s/%s is being deleted", errBridgeNotFound, namespace, name)
	}
	c.bridge = secretstore.Bridge{Namespace: namespace, Name: name, UID: bridge.UID}
	return s.limitOf(bridge), nil
}

func (s *Server) limitOf(bridge *effective.Bridge) limit {
	tier, known := s.tiers[bridge.Spec.Tier]
	if !known {
		return limit{tier: bridge.Spec.Tier, secrets: new(int32), unknown: true}
	}
	return limit{tier: bridge.Spec.Tier, secrets: tier.Secrets}
}

func asJSON(status int, value any) (answer, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return answer{}, errors.New("encode answer")
	}
	return answer{status: status, mediaType: "application/json", body: body}, nil
}

// attrs describe the subject of the request in the log.
func (c *call) attrs() []slog.Attr {
	var attrs []slog.Attr
	if c.caller != "" {
		attrs = append(attrs, slog.String("caller", string(c.caller)))
	}
	if b := c.bridge; b.UID != "" {
		attrs = append(attrs, slog.String("namespace", b.Namespace), slog.String("hostedBridge", b.Name), slog.String("uid", string(b.UID)))
	}
	if c.secret != "" {
		attrs = append(attrs, slog.String("secret", c.secret))
	}
	return attrs
}
