// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func secrets(names ...v1alpha1.SecretName) func(*v1alpha1.HostedBridge) {
	return func(b *v1alpha1.HostedBridge) { b.Spec.Servers[0].Secrets = names }
}

func headers(h ...v1alpha1.Header) func(*v1alpha1.HostedBridge) {
	return func(b *v1alpha1.HostedBridge) { b.Spec.Servers[0].Transport.Headers = h }
}

func header(name string) func(*v1alpha1.HostedBridge) {
	return headers(v1alpha1.Header{Name: name, Value: "v"})
}

func value(v string) func(*v1alpha1.HostedBridge) {
	return headers(v1alpha1.Header{Name: "X-Key", Value: v})
}

func refs(r ...v1alpha1.SecretRef) func(*v1alpha1.HostedBridge) {
	return func(b *v1alpha1.HostedBridge) { b.Spec.SecretRefs = r }
}

func keys(k ...v1alpha1.SecretRefKey) func(*v1alpha1.HostedBridge) {
	return refs(v1alpha1.SecretRef{Name: "source", Keys: k})
}

// many returns n of what one makes of a number.
func many[T any](n int, one func(i int) T) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = one(i)
	}
	return list
}

func numbered[T ~string](prefix string) func(i int) T {
	return func(i int) T { return T(fmt.Sprintf("%s%d", prefix, i)) }
}

func TestBadSecretsAreRefusedWithTheFieldAndTheAcceptedForm(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	const (
		granted = "spec.servers[0].secrets[0]"
		as      = "spec.secretRefs[0].keys[0].as"
		form    = "such as GITHUB_TOKEN, or a file's name with a dot in it, such as credentials.json"
		head    = "spec.servers[0].transport.headers"
	)
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.HostedBridge)
		want   []string
	}{
		{"a secret in lower case", secrets("token"), []string{granted, form}},
		{"a secret that begins with a digit", secrets("1TOKEN"), []string{granted, form}},
		{"a secret that begins with an underscore", secrets("_TOKEN"), []string{granted, form}},
		{"a secret with a hyphen and no dot", secrets("GITHUB-TOKEN"), []string{granted, form}},
		{"a secret that begins with a dot", secrets(".index"), []string{granted, form}},
		{"a secret that ends with a dot", secrets("index."), []string{granted, form}},
		{"a secret that is a path", secrets("../token.json"), []string{granted, form}},
		{"a secret with two dots in a row", secrets("a..b"), []string{granted, form}},
		{"a secret of a template", secrets("${TOKEN}"), []string{granted, form}},
		{"a secret with a line break at its end", secrets("TOKEN\n"), []string{granted, form}},
		{"an empty secret", secrets(""), []string{granted, form}},
		{"a secret that is too long", secrets(v1alpha1.SecretName(strings.Repeat("A", 65))), []string{granted, "64"}},
		{"a secret granted twice", secrets("TOKEN", "TOKEN"), []string{"spec.servers[0].secrets[1]", "Duplicate"}},
		{"too many secrets of a server", secrets(many(33, numbered[v1alpha1.SecretName]("S"))...), []string{"spec.servers[0].secrets", "32"}},

		{"an empty header", header(""), []string{head + "[0].name", "letters, digits or hyphens"}},
		{"a header with a colon", header("X:"), []string{head + "[0].name", "letters, digits or hyphens"}},
		{"a header with an underscore", header("X_Key"), []string{head + "[0].name", "letters, digits or hyphens"}},
		{"a header with a line break", header("X\r\nY"), []string{head + "[0].name", "letters, digits or hyphens"}},
		{"a header that begins with a hyphen", header("-X"), []string{head + "[0].name", "letters, digits or hyphens"}},
		{"a header that is too long", header(strings.Repeat("X", 65)), []string{head + "[0].name", "64"}},
		{"a header of HTTP", header("Content-Length"), []string{head + "[0].name", "belongs to HTTP, MCP or"}},
		{"a header of HTTP, in another case", header("hOsT"), []string{head + "[0].name", "belongs to HTTP, MCP or"}},
		{"a header of MCP", header("Mcp-Session-Id"), []string{head + "[0].name", "belongs to HTTP, MCP or"}},
		{"a header of MCP, in another case", header("MCP-protocol-version"), []string{head + "[0].name", "belongs to HTTP, MCP or"}},
		{"a header that tells of loops", header("Hosted-Bridge-Hops"), []string{head + "[0].name", "belongs to HTTP, MCP or"}},
		{"a trace", header("TraceParent"), []string{head + "[0].name", "belongs to HTTP, MCP or"}},
		{"a trace's state", header("tracestate"), []string{head + "[0].name", "belongs to HTTP, MCP or"}},
		{"a header that resumes a stream", header("Last-Event-ID"), []string{head + "[0].name", "belongs to HTTP, MCP or"}},
		{"one header twice", headers(v1alpha1.Header{Name: "X", Value: "a"}, v1alpha1.Header{Name: "X", Value: "b"}), []string{head + "[1]", "Duplicate"}},
		{"an empty value", value(""), []string{head + "[0].value", "at least 1"}},
		{"a value that is too long", value(strings.Repeat("v", 1025)), []string{head + "[0].value", "1024"}},
		{"too many headers", headers(many(17, func(i int) v1alpha1.Header {
			return v1alpha1.Header{Name: fmt.Sprintf("X-%d", i), Value: "v"}
		})...), []string{head, "16"}},

		{"a source without a name", refs(v1alpha1.SecretRef{}), []string{"spec.secretRefs[0].name", "at least 1"}},
		{"a source with a name that is too long", refs(v1alpha1.SecretRef{Name: strings.Repeat("s", 254)}), []string{"spec.secretRefs[0].name", "253"}},
		{"a source named twice", refs(v1alpha1.SecretRef{Name: "s"}, v1alpha1.SecretRef{Name: "s"}), []string{"spec.secretRefs[1]", "Duplicate"}},
		{"too many sources", refs(many(33, func(i int) v1alpha1.SecretRef {
			return v1alpha1.SecretRef{Name: fmt.Sprintf("s-%d", i)}
		})...), []string{"spec.secretRefs", "32"}},
		{"a key without a name", keys(v1alpha1.SecretRefKey{As: "TOKEN"}), []string{"spec.secretRefs[0].keys[0].key", "at least 1"}},
		{"a key that is too long", keys(v1alpha1.SecretRefKey{Key: strings.Repeat("k", 254)}), []string{"spec.secretRefs[0].keys[0].key", "253"}},
		{"a key named twice", keys(v1alpha1.SecretRefKey{Key: "k", As: "A"}, v1alpha1.SecretRefKey{Key: "k", As: "B"}), []string{"spec.secretRefs[0].keys[1]", "Duplicate"}},
		{"a key as what no secret is called", keys(v1alpha1.SecretRefKey{Key: "token", As: "token"}), []string{as, form}},
		{"a key as a path", keys(v1alpha1.SecretRefKey{Key: "token", As: "a/b.json"}), []string{as, form}},
		{"a key as what is too long", keys(v1alpha1.SecretRefKey{Key: "token", As: v1alpha1.SecretName(strings.Repeat("A", 65))}), []string{as, "64"}},
		{"too many keys", keys(many(65, func(i int) v1alpha1.SecretRefKey {
			return v1alpha1.SecretRefKey{Key: fmt.Sprintf("k%d", i)}
		})...), []string{"spec.secretRefs[0].keys", "64"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := valid(namespace, "refused")
			test.change(b)
			expectRefused(t, c.Create(t.Context(), b), test.want...)
		})
	}
}

func TestGoodSecretsAreTaken(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	long := strings.Repeat("A", 64)
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.HostedBridge)
	}{
		{"variables", secrets("T", "GITHUB_TOKEN", "A1_", v1alpha1.SecretName(long))},
		{"files", secrets("credentials.json", "a.b", "id_rsa.pub", "My-File.tar.gz", "1.2", "GITHUB_TOKEN.txt")},
		{"as many secrets as a server may have", secrets(many(32, numbered[v1alpha1.SecretName]("S"))...)},
		{"headers", headers(
			v1alpha1.Header{Name: "Authorization", Value: "Bearer ${GITHUB_TOKEN}"},
			v1alpha1.Header{Name: "X", Value: "${TEAM:-none} $$5"},
			v1alpha1.Header{Name: strings.Repeat("x", 64), Value: strings.Repeat("v", 1024)},
			v1alpha1.Header{Name: "Cookie", Value: "a=b"}, v1alpha1.Header{Name: "User-Agent", Value: "mine"})},
		{"as many headers as a server may have", headers(many(16, func(i int) v1alpha1.Header {
			return v1alpha1.Header{Name: fmt.Sprintf("X-%d", i), Value: "v"}
		})...)},
		{"a source with all of its keys", refs(v1alpha1.SecretRef{Name: "source"})},
		{"a source with some", keys(v1alpha1.SecretRefKey{Key: "any_key-of.it", As: "TOKEN"}, v1alpha1.SecretRefKey{Key: "CERT"})},
		{"a source that goes", refs(v1alpha1.SecretRef{Name: "source", DeleteSource: true})},
		{"as many sources and keys as there may be", refs(many(32, func(i int) v1alpha1.SecretRef {
			return v1alpha1.SecretRef{Name: fmt.Sprintf("s-%d", i), Keys: many(64, func(j int) v1alpha1.SecretRefKey {
				return v1alpha1.SecretRefKey{Key: fmt.Sprintf("k%d", j), As: v1alpha1.SecretName(fmt.Sprintf("S_%d_%d", i, j))}
			})}
		})...)},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := valid(namespace, "taken")
			test.change(b)
			want := b.DeepCopy().Spec
			testenv.ExpectApplied(t, c, b)
			defer func() {
				if err := c.Delete(t.Context(), b); err != nil {
					t.Error(err)
				}
			}()
			testenv.ExpectExists(t, c, b)
			if diff := cmp.Diff(want.SecretRefs, b.Spec.SecretRefs); diff != "" {
				t.Errorf("stored sources (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.Servers[0].Secrets, b.Spec.Servers[0].Secrets); diff != "" {
				t.Errorf("stored secrets (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.Servers[0].Transport.Headers, b.Spec.Servers[0].Transport.Headers); diff != "" {
				t.Errorf("stored headers (-want +got):\n%s", diff)
			}
		})
	}
}
