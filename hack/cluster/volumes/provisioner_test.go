// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package volumes

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// memory has the sizes of the volumes that there are. The first volume fails once.
type memory struct {
	sync.Mutex
	sizes  map[string]int64
	failed bool
}

func (m *memory) add(_ context.Context, name string, bytes int64) (string, error) {
	m.Lock()
	defer m.Unlock()
	if !m.failed {
		m.failed = true
		return "", errors.New("the disk is busy")
	}
	m.sizes[name] = bytes
	return "/volumes/" + name, nil
}

func (m *memory) remove(_ context.Context, name string) error {
	m.Lock()
	defer m.Unlock()
	delete(m.sizes, name)
	return nil
}

func (m *memory) has(name string) (int64, bool) {
	m.Lock()
	defer m.Unlock()
	size, ok := m.sizes[name]
	return size, ok
}

func claimOf(class string, uid types.UID) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: "claim-" + string(uid), UID: uid},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: ptr.To(class), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}},
		},
	}
}

func TestAClaimGetsAVolumeOfItsSizeWhichGoesWithIt(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	clients := fake.NewClientset(claimOf("other", "0"), claimOf(Class, "1"))
	kept := &memory{sizes: map[string]int64{}}
	p, synced, err := start(ctx, clients, kept)
	if err != nil || !cache.WaitForCacheSync(ctx.Done(), synced...) {
		t.Fatal("the watches did not begin", err)
	}
	api := clients.CoreV1().PersistentVolumes()
	made, err := api.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	go p.run(ctx)
	v := expectEvent(t, ctx, made, watch.Added)
	if size, ok := kept.has("pvc-1"); !ok || size != 1<<20 || v.Spec.Local.Path != "/volumes/pvc-1" || v.Spec.ClaimRef.UID != "1" {
		t.Errorf("size %d of %+v", size, v.Spec)
	}
	if _, ok := kept.has("pvc-0"); ok {
		t.Error("the claim of another class has a volume")
	}
	v.Status.Phase = corev1.VolumeReleased
	if err := clients.CoreV1().PersistentVolumeClaims("tenants").Delete(ctx, "claim-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.UpdateStatus(ctx, v, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	expectEvent(t, ctx, made, watch.Deleted)
	if size, ok := kept.has("pvc-1"); ok {
		t.Errorf("the volume's %d bytes are there", size)
	}
}

func start(ctx context.Context, clients *fake.Clientset, d disks) (*provisioner, []cache.InformerSynced, error) {
	return observe(ctx, clients, d, "node")
}

func expectEvent(t *testing.T, ctx context.Context, events watch.Interface, kind watch.EventType) *corev1.PersistentVolume {
	t.Helper()
	for {
		select {
		case <-ctx.Done():
			t.Fatalf("no volume was %s", kind)
		case e := <-events.ResultChan():
			if e.Type == kind {
				return e.Object.(*corev1.PersistentVolume)
			}
		}
	}
}
