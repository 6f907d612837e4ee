// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/recovery"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// objects are those of an installation, by their kind, with "Ring" for the ring.
type objects map[string][]string

// Objects implements Reader.
func (o objects) Objects(_ context.Context, kind string) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	for _, text := range o[kind] {
		if text == "fails" {
			return nil, errors.New("away")
		}
		var object unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			return nil, err
		}
		all = append(all, object)
	}
	return all, nil
}

// Ring implements Reader.
func (o objects) Ring(ctx context.Context) (*unstructured.Unstructured, error) {
	all, err := o.Objects(ctx, "Ring")
	if len(all) == 0 {
		return nil, err
	}
	return &all[0], err
}

const (
	ours  = "apiVersion: hostedbridge.dev/v1alpha1\nkind: "
	owned = `
apiVersion: v1
kind: Secret
metadata:
  namespace: team
  name: alice-KIND
  ownerReferences: [{apiVersion: hostedbridge.dev/v1alpha1, kind: HostedBridge, name: alice, uid: u1, controller: true}]
data: {KEY: AAAA}`
)

// some is an object of each kind.
func some() objects {
	return objects{
		"BridgePerson": {ours + `BridgePerson
metadata: {name: anna, namespace: system, managedFields: [{manager: ingress}]}
spec: {user: anna}
status: {login: {groups: ["a  b", "<c>"]}}`},
		"BridgeGroup":      {ours + "BridgeGroup\nmetadata: {name: g}"},
		"BridgeProfile":    {ours + "BridgeProfile\nmetadata: {name: p, managedFields: [{manager: kubectl}]}\nstatus: {bridges: 1}"},
		"CatalogPublisher": {ours + "CatalogPublisher\nmetadata: {name: acme, namespace: catalog, managedFields: [{manager: ingress}]}"},
		"BridgeRequest":    {ours + "BridgeRequest\nmetadata: {name: r}\nspec: {bridgeUID: u1}"},
		"CatalogRecipe":    {ours + "CatalogRecipe\nmetadata: {name: notes, namespace: catalog}\nstatus: {versions: []}"},
		"HostedBridge":     {ours + "HostedBridge\nmetadata: {name: alice, namespace: team, uid: u1, managedFields: [{manager: x}]}\nspec: {userID: alice}"},
		"SharedServer":     {ours + "SharedServer\nmetadata: {name: pay, namespace: system, uid: u2}"},
		"Secret":           {strings.NewReplacer("KIND", "envelopes", "KEY", ".index").Replace(owned), strings.NewReplacer("KIND", "salt", "KEY", "salt").Replace(owned)},
		"Ring":             {"apiVersion: v1\nkind: Secret\nmetadata: {name: ring, namespace: system}\ndata: {'1': AAAA}"},
	}
}

// files decrypts a backup.
func files(t *testing.T, content []byte, identity age.Identity) map[string]string {
	t.Helper()
	plain := must.Value(age.Decrypt(bytes.NewReader(content), identity))(t)
	archive := tar.NewReader(must.Value(gzip.NewReader(plain))(t))
	all := map[string]string{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		must.Succeed(t, err)
		if header.Mode != 0o600 || !header.ModTime.Equal(noon) {
			t.Errorf("%s has mode %o and the time %v", header.Name, header.Mode, header.ModTime)
		}
		all[header.Name] = string(must.Value(io.ReadAll(archive))(t))
	}
}

func TestABackupHasTheFilesOfTheDocumentation(t *testing.T) {
	first, second := must.Value(age.GenerateX25519Identity())(t), must.Value(age.GenerateHybridIdentity())(t)
	for name, of := range map[string]struct {
		recipient age.Recipient
		identity  age.Identity
	}{"X25519": {first.Recipient(), first}, "post-quantum": {second.Recipient(), second}} {
		t.Run(name, func(t *testing.T) {
			var content bytes.Buffer
			got, err := Write(t.Context(), &content, some(), noon, of.recipient)
			if want := (Contents{Bridges: 1, SharedServers: 1, Envelopes: 1, Salts: 1, Ring: true}); err != nil || got != want {
				t.Fatalf("it holds %+v, %v", got, err)
			}
			if strings.Contains(content.String(), "alice") {
				t.Error("it is not encrypted")
			}
			read := files(t, content.Bytes(), of.identity)
			if diff := cmp.Diff(map[string]string{
				"patches.txt": `--subresource=status --namespace=system BridgePerson anna {"status":{"login":{"groups":["a  b","\u003cc\u003e"]}}}
--subresource= --namespace=system BridgePerson anna {"metadata":{"managedFields":[{"manager":"ingress"}]}}
--subresource= --namespace=catalog CatalogPublisher acme {"metadata":{"managedFields":[{"manager":"ingress"}]}}
--subresource=status --namespace=catalog CatalogRecipe notes {"status":{"versions":[]}}
--subresource= --namespace=catalog CatalogRecipe notes {"metadata":{"managedFields":null}}
`,
				"uids.txt": "u1 team alice\n",
			}, map[string]string{"patches.txt": read["patches.txt"], "uids.txt": read["uids.txt"]}); diff != "" {
				t.Error(diff)
			}
			for name, kinds := range map[string]string{
				"people.json": "BridgePerson BridgeGroup BridgeProfile CatalogPublisher", "requests.json": "BridgeRequest",
				"recipes.json": "CatalogRecipe", "bridges.json": "HostedBridge SharedServer", "ring.json": "Secret",
			} {
				if got := kindsOf(t, read[name]); got != kinds || strings.Contains(read[name], "managedFields") {
					t.Errorf("%s has %q: %s", name, got, read[name])
				}
			}
			if len(read) != 9 {
				t.Errorf("it has %d files", len(read))
			}
			if b, err := recovery.ReadBackup(strings.NewReader(read["bridges.json"] + read["envelopes.json"] + read["salts.json"])); err != nil || b.Len() != 2 {
				t.Errorf("restore reads %v, %v", b, err)
			}
			stranger := must.Value(age.GenerateX25519Identity())(t)
			if _, err := age.Decrypt(bytes.NewReader(content.Bytes()), stranger); err == nil {
				t.Error("another key opens it")
			}
		})
	}
}

func kindsOf(t *testing.T, text string) string {
	t.Helper()
	var list unstructured.UnstructuredList
	var one unstructured.Unstructured
	must.Succeed(t, json.Unmarshal([]byte(text), &one.Object))
	if one.GetKind() != "List" {
		return one.GetKind()
	}
	must.Succeed(t, list.UnmarshalJSON([]byte(text)))
	var kinds []string
	for _, item := range list.Items {
		kinds = append(kinds, item.GetKind())
	}
	return strings.Join(kinds, " ")
}

func TestABackupThatLacksAKindIsNone(t *testing.T) {
	identity := must.Value(age.GenerateX25519Identity())(t)
	for kind := range some() {
		from := some()
		from[kind] = []string{"fails"}
		if _, err := Write(t.Context(), io.Discard, from, noon, identity.Recipient()); err == nil || !strings.Contains(err.Error(), "away") {
			t.Errorf("%s cannot be read: %v", kind, err)
		}
	}
	without := some()
	delete(without, "Ring")
	var content bytes.Buffer
	if got, err := Write(t.Context(), &content, without, noon, identity.Recipient()); err != nil || got.Ring {
		t.Errorf("without a ring it holds %+v, %v", got, err)
	}
	if _, found := files(t, content.Bytes(), identity)["ring.json"]; found {
		t.Error("without a ring it has a file for it")
	}
}
