// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/backup"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
)

// backupPage is how many whole objects are listed at once: of HostedBridges some megabytes.
const backupPage = 200

// BackupReader reads what a backup holds. It has no master key, and opens nothing.
type BackupReader struct {
	client  client.Client
	system  string
	catalog string // The namespace of recipes and publishers.
	watched namespaces.Set
	ring    string // The name of the Secret, empty to leave it out.
}

var _ backup.Reader = (*BackupReader)(nil)

// NewBackupReader reaches the API server. Without the name of the ring's Secret, it leaves the
// ring out; without a namespace of the catalog, it is the installation's.
func NewBackupReader(o Options, ring, catalog string) (*BackupReader, error) {
	silence()
	config, err := keybroker.ClientConfig(o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout, config.QPS = listTimeout, -1
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return &BackupReader{client: c, system: o.Namespace, catalog: cmp.Or(catalog, o.Namespace), watched: o.Watched, ring: ring}, nil
}

// Objects implements backup.Reader.
func (r *BackupReader) Objects(ctx context.Context, kind string) ([]unstructured.Unstructured, error) {
	of, in := v1alpha1.GroupVersion.WithKind(kind), []string{r.system}
	var options []client.ListOption
	switch kind {
	case "HostedBridge":
		in = r.watched.Queries()
	case "CatalogPublisher", "CatalogRecipe":
		in = []string{r.catalog}
	case "Secret":
		of.Group, of.Version = "", "v1"
		options = append(options, client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.FieldOwnerKeybroker})
		// Those of SharedServers are in the installation's namespace.
		if in = slices.Clone(r.watched.Queries()); !r.watched.Contain(r.system) {
			in = append(in, r.system)
		}
	}
	empty := func() *unstructured.UnstructuredList {
		page := &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(of.GroupVersion().WithKind(kind + "List"))
		return page
	}
	var all []unstructured.Unstructured
	add := func(page *unstructured.UnstructuredList) error {
		all = append(all, page.Items...)
		return nil
	}
	for _, namespace := range in {
		if err := namespaces.EachPage(ctx, r.client, empty, add, append(options, client.InNamespace(namespace), client.Limit(backupPage))...); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ID returns what tells the installation from all others, in this cluster and elsewhere: the
// UID of its namespace. --cluster-id is the same by default.
func (r *BackupReader) ID(ctx context.Context) (string, error) {
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	if err := r.client.Get(ctx, client.ObjectKey{Name: r.system}, namespace); err != nil {
		return "", fmt.Errorf("read the namespace of the installation, whose UID is in the names of backups: %w", err)
	}
	return string(namespace.GetUID()), nil
}

// Ring implements backup.Reader.
func (r *BackupReader) Ring(ctx context.Context) (*unstructured.Unstructured, error) {
	if r.ring == "" {
		return nil, nil
	}
	secret := &unstructured.Unstructured{}
	secret.SetAPIVersion("v1")
	secret.SetKind("Secret")
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.system, Name: r.ring}, secret)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf(`there is no Secret %s/%s: name that of the ring by --ring-secret, or say --ring-secret="" and keep the ring yourself`, r.system, r.ring)
	}
	if err != nil {
		return nil, fmt.Errorf("read the ring: %w", err)
	}
	return secret, nil
}
