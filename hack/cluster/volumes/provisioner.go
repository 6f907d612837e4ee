// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package volumes

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
)

const (
	// Class is the StorageClass whose claims get volumes, and Provisioner its
	// provisioner.
	Class       = "local"
	Provisioner = "hostedbridge.dev/local"

	// provisionedBy is Kubernetes' annotation for the provisioner of a volume.
	provisionedBy = "pv.kubernetes.io/provisioned-by"
	// retry is after a failure.
	retry = time.Second
)

// disks are where volumes are kept.
type disks interface {
	// add makes a file system of that size and returns its folder. It may exist.
	add(ctx context.Context, name string, bytes int64) (folder string, err error)
	// remove ends and deletes it. It may be gone.
	remove(ctx context.Context, name string) error
}

// provisioner makes and deletes volumes.
type provisioner struct {
	clients kubernetes.Interface
	disks   disks
	node    string
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	changed chan struct{}
}

// Run makes the volumes of the node in the folder until ctx ends.
func Run(ctx context.Context, kubeconfig, folder, node string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	p, synced, err := observe(ctx, clients, images{folder}, node)
	if err != nil {
		return err
	}
	if cache.WaitForCacheSync(ctx.Done(), synced...) {
		p.run(ctx)
	}
	return nil
}

// observe starts the watches of claims and volumes.
func observe(ctx context.Context, clients kubernetes.Interface, d disks, node string) (*provisioner, []cache.InformerSynced, error) {
	factory := informers.NewSharedInformerFactory(clients, 0)
	p := &provisioner{
		clients: clients, disks: d, node: node, changed: make(chan struct{}, 1),
		claims: factory.Core().V1().PersistentVolumeClaims().Lister(), volumes: factory.Core().V1().PersistentVolumes().Lister(),
	}
	var synced []cache.InformerSynced
	for _, informer := range []cache.SharedIndexInformer{
		factory.Core().V1().PersistentVolumeClaims().Informer(), factory.Core().V1().PersistentVolumes().Informer(),
	} {
		changed := func(any) { p.change() }
		handler := cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, o any) { changed(o) }, DeleteFunc: changed}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, nil, fmt.Errorf("watch: %w", err)
		}
		synced = append(synced, informer.HasSynced)
	}
	factory.Start(ctx.Done())
	return p, synced, nil
}

func (p *provisioner) change() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// run brings the volumes up to date after each change.
func (p *provisioner) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
		}
		if err := p.update(ctx); err != nil && ctx.Err() == nil {
			log.Print("volumes: ", err)
			time.AfterFunc(retry, p.change)
		}
	}
}

func (p *provisioner) update(ctx context.Context) error {
	claims, err := p.claims.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list claims: %w", err)
	}
	volumes, err := p.volumes.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	var failed []error
	for _, c := range claims {
		if c.Spec.VolumeName == "" && ptr.Deref(c.Spec.StorageClassName, "") == Class && c.DeletionTimestamp == nil {
			failed = append(failed, p.provision(ctx, c))
		}
	}
	for _, v := range volumes {
		released := v.Status.Phase == corev1.VolumeReleased && v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
		if v.Annotations[provisionedBy] == Provisioner && released {
			failed = append(failed, p.reclaim(ctx, v))
		}
	}
	return errors.Join(failed...)
}

// provision makes the volume of a claim. Kubernetes binds the two.
func (p *provisioner) provision(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	name := "pvc-" + string(c.UID)
	if _, err := p.volumes.Get(name); err == nil {
		return nil
	}
	size := c.Spec.Resources.Requests[corev1.ResourceStorage]
	folder, err := p.disks.add(ctx, name, size.Value())
	if err != nil {
		return fmt.Errorf("make the volume of claim %s/%s: %w", c.Namespace, c.Name, err)
	}
	_, err = p.clients.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedBy: Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: size}, AccessModes: c.Spec.AccessModes,
			StorageClassName: Class, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: folder}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{p.node},
				}},
			}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create volume %s: %w", name, err)
	}
	return nil
}

// reclaim deletes a volume whose claim is gone.
func (p *provisioner) reclaim(ctx context.Context, v *corev1.PersistentVolume) error {
	if err := p.disks.remove(ctx, v.Name); err != nil {
		return fmt.Errorf("remove volume %s: %w", v.Name, err)
	}
	err := p.clients.CoreV1().PersistentVolumes().Delete(ctx, v.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &v.UID}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete volume %s: %w", v.Name, err)
	}
	return nil
}
