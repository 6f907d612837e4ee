// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// CacheOptions limit what the operator holds in memory to the installation's
// own objects, and of them to what is read. namespace is the installation's.
func CacheOptions(namespace string) cache.Options {
	own := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{
		v1alpha1.LabelName:      v1alpha1.NameValue,
		v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
	})}
	pods := own
	pods.Transform = stripPod
	trust := cache.ByObject{Namespaces: map[string]cache.Config{
		namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", trustName)},
	}}
	keybroker := cache.ByObject{Namespaces: map[string]cache.Config{
		namespace: {LabelSelector: labels.SelectorFromSet(keybrokerSlices)},
	}}
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		// A read of anything else would silently begin to cache all of it.
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.ServiceAccount{}:     own,
			&appsv1.Deployment{}:         own,
			&corev1.Pod{}:                pods,
			&corev1.ConfigMap{}:          trust,
			&discoveryv1.EndpointSlice{}: keybroker,
		},
	}
}

// stripPod keeps of a pod what observedPod and the watches read.
func stripPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{Status: corev1.PodStatus{Phase: pod.Status.Phase}}
	kept.Name, kept.Namespace, kept.UID = pod.Name, pod.Namespace, pod.UID
	kept.ResourceVersion, kept.CreationTimestamp = pod.ResourceVersion, pod.CreationTimestamp
	kept.DeletionTimestamp = pod.DeletionTimestamp
	kept.Labels = pod.Labels
	kept.Annotations = map[string]string{v1alpha1.AnnotationBridgeUID: pod.Annotations[v1alpha1.AnnotationBridgeUID]}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled {
			kept.Status.Conditions = append(kept.Status.Conditions,
				corev1.PodCondition{Type: c.Type, Status: c.Status, Message: c.Message})
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		kept.Status.ContainerStatuses = append(kept.Status.ContainerStatuses,
			corev1.ContainerStatus{Name: s.Name, State: corev1.ContainerState{Waiting: s.State.Waiting}})
	}
	return kept, nil
}
