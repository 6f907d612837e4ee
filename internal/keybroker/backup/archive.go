// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup writes a backup of an installation, encrypted to public keys of its
// administrators, and keeps it in a folder or a bucket. The private keys are not in the
// cluster: what was written is compared with what the target returns.
package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"filippo.io/age"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// Reader reads the objects of an installation.
type Reader interface {
	// Objects returns the objects of a kind: HostedBridges and sealed Secrets of all served
	// namespaces, the catalog of its namespace, and other kinds of the installation's.
	Objects(ctx context.Context, kind string) ([]unstructured.Unstructured, error)
	// Ring returns the Secret of the master key, nil to leave it out.
	Ring(ctx context.Context) (*unstructured.Unstructured, error)
}

// Contents count what a backup holds.
type Contents struct {
	Bridges       int  `json:"bridges"` // HostedBridges alone.
	SharedServers int  `json:"sharedServers"`
	Envelopes     int  `json:"envelopes"`
	Salts         int  `json:"salts"`
	Ring          bool `json:"ring"`
}

// Write writes the files of docs/operations/backup.md to w: tar, compressed by gzip, and
// encrypted to recipients. Only those with one of their private keys can read it.
func Write(ctx context.Context, w io.Writer, r Reader, at time.Time, recipients ...age.Recipient) (Contents, error) {
	sealed, err := age.Encrypt(w, recipients...)
	if err != nil {
		return Contents{}, fmt.Errorf("encrypt: %w", err)
	}
	compressed := gzip.NewWriter(sealed)
	a := &archive{tar: tar.NewWriter(compressed), reader: r, at: at}
	for _, part := range []func(context.Context) error{a.ring, a.people, a.bridges, a.secrets} {
		if err := part(ctx); err != nil {
			return Contents{}, err
		}
	}
	if err := errors.Join(a.tar.Close(), compressed.Close(), sealed.Close()); err != nil {
		return Contents{}, fmt.Errorf("encrypt: %w", err)
	}
	return a.contents, nil
}

// archive adds files to a tar, one after the other, so that one is in memory at a time.
type archive struct {
	tar      *tar.Writer
	reader   Reader
	at       time.Time
	contents Contents
}

func (a *archive) add(name string, content []byte) error {
	err := a.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(content)), ModTime: a.at})
	if err == nil {
		_, err = a.tar.Write(content)
	}
	if err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	return nil
}

func (a *archive) ring(ctx context.Context) error {
	ring, err := a.reader.Ring(ctx)
	if err != nil || ring == nil {
		return err
	}
	a.contents.Ring = true
	content, err := ring.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encode the ring: %w", err)
	}
	return a.add("ring.json", content)
}

// people adds the people, what they ask for, and the catalog. patches.txt has what
// kubectl create does not restore: who holds which field, and the status.
func (a *archive) people(ctx context.Context) error {
	var patches bytes.Buffer
	for _, file := range []struct {
		name  string
		kinds []string
	}{
		{"people.json", []string{"BridgePerson", "BridgeGroup", "BridgeProfile", "CatalogPublisher"}},
		{"requests.json", []string{"BridgeRequest"}},
		{"recipes.json", []string{"CatalogRecipe"}},
	} {
		objects, err := a.objects(ctx, file.kinds...)
		if err != nil {
			return err
		}
		for i := range objects {
			if err := patch(&patches, &objects[i]); err != nil {
				return err
			}
		}
		if err := a.addList(file.name, objects); err != nil {
			return err
		}
	}
	return a.add("patches.txt", patches.Bytes())
}

// patched are the kinds whose status and field managers are restored.
var patched = map[string]bool{"BridgePerson": true, "CatalogPublisher": true, "CatalogRecipe": true}

// patch adds the lines of one object: two flags of kubectl patch, the object, and the patch.
func patch(to *bytes.Buffer, o *unstructured.Unstructured) error {
	if !patched[o.GetKind()] {
		return nil
	}
	line := func(subresource string, patch map[string]any) error {
		content, err := json.Marshal(patch)
		if err == nil {
			_, err = fmt.Fprintf(to, "--subresource=%s --namespace=%s %s %s %s\n", subresource, o.GetNamespace(), o.GetKind(), o.GetName(), content)
		}
		return err
	}
	if status, found := o.Object["status"]; found {
		if err := line("status", map[string]any{"status": status}); err != nil {
			return fmt.Errorf("encode the status of %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	// The status first: its own patch would be another holder of fields.
	held, _, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", "managedFields")
	if err := line("", map[string]any{"metadata": map[string]any{"managedFields": held}}); err != nil {
		return fmt.Errorf("encode the field managers of %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// bridges adds HostedBridges and SharedServers, and the UIDs by which requests name the
// former.
func (a *archive) bridges(ctx context.Context) error {
	objects, err := a.objects(ctx, "HostedBridge", "SharedServer")
	if err != nil {
		return err
	}
	var uids bytes.Buffer
	for i := range objects {
		if o := &objects[i]; o.GetKind() == "HostedBridge" {
			a.contents.Bridges++
			_, _ = fmt.Fprintf(&uids, "%s %s %s\n", o.GetUID(), o.GetNamespace(), o.GetName())
		}
	}
	a.contents.SharedServers = len(objects) - a.contents.Bridges
	return errors.Join(a.addList("bridges.json", objects), a.add("uids.txt", uids.Bytes()))
}

// secrets adds envelopes and salts, one object a line, in files of their own.
func (a *archive) secrets(ctx context.Context) error {
	objects, err := a.objects(ctx, "Secret")
	if err != nil {
		return err
	}
	var envelopes, salts bytes.Buffer
	for i := range objects {
		data, _, err := unstructured.NestedMap(objects[i].Object, "data")
		if err != nil {
			return fmt.Errorf("read the Secret %s/%s: %w", objects[i].GetNamespace(), objects[i].GetName(), err)
		}
		into, count := &envelopes, &a.contents.Envelopes
		if _, isSalt := data[secretstore.SaltKey]; isSalt {
			into, count = &salts, &a.contents.Salts
		}
		*count++
		content, err := json.Marshal(objects[i].Object)
		if err != nil {
			return fmt.Errorf("encode the Secret %s/%s: %w", objects[i].GetNamespace(), objects[i].GetName(), err)
		}
		into.Write(append(content, '\n'))
	}
	return errors.Join(a.add("envelopes.json", envelopes.Bytes()), a.add("salts.json", salts.Bytes()))
}

func (a *archive) objects(ctx context.Context, kinds ...string) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	for _, kind := range kinds {
		objects, err := a.reader.Objects(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("list objects of kind %s: %w", kind, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

// addList adds objects as kubectl get prints them: a List, without field managers.
func (a *archive) addList(name string, objects []unstructured.Unstructured) error {
	list := struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Items      []map[string]any `json:"items"`
	}{"v1", "List", make([]map[string]any, len(objects))}
	for i := range objects {
		unstructured.RemoveNestedField(objects[i].Object, "metadata", "managedFields")
		list.Items[i] = objects[i].Object
	}
	content, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return a.add(name, append(content, '\n'))
}
