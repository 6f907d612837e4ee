// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
)

// CacheOptions limit what the operator holds in memory: only the installation's
// own objects, and only the fields that it reads. namespace is the
// installation's; HostedBridges are reconciled in the watched namespaces.
func CacheOptions(namespace string, watched namespaces.Set) cache.Options {
	// The operator changes no object of these types that it reads, so reads do not copy them.
	own := cache.ByObject{UnsafeDisableDeepCopy: new(true), Label: labels.SelectorFromSet(labels.Set{
		v1alpha1.LabelName:      v1alpha1.NameValue,
		v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
	})}
	accounts, deployments := own, own
	accounts.Transform, deployments.Transform = stripMetadata, stripDeployment
	pods, claims := own, own
	pods.Transform, claims.Transform = stripPod, stripClaim
	// ConfigMaps of bridges everywhere but in the installation's own namespace,
	// where the keybroker's certificate is. A bridge in that namespace works
	// all the same: the operator reads its ConfigMap from the API server.
	configMaps := cache.ByObject{UnsafeDisableDeepCopy: own.UnsafeDisableDeepCopy, Namespaces: map[string]cache.Config{}}
	for _, each := range watched.Queries() {
		configMaps.Namespaces[each] = cache.Config{LabelSelector: own.Label, Transform: stripConfigMap}
	}
	configMaps.Namespaces[namespace] = cache.Config{FieldSelector: fields.OneTermEqualSelector("metadata.name", trustName)}
	keybroker := cache.ByObject{UnsafeDisableDeepCopy: own.UnsafeDisableDeepCopy, Namespaces: map[string]cache.Config{
		namespace: {LabelSelector: labels.SelectorFromSet(keybrokerSlices)},
	}}
	return cache.Options{
		DefaultTransform:  cache.TransformStripManagedFields(),
		DefaultNamespaces: namespaces.Each(watched, cache.Config{}),
		// A read of any other type would silently start a cache of all its
		// objects.
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.HostedBridge{}:        {Transform: stripBridge},
			&corev1.ServiceAccount{}:        accounts,
			&appsv1.Deployment{}:            deployments,
			&corev1.Pod{}:                   pods,
			&corev1.PersistentVolumeClaim{}: claims,
			&corev1.ConfigMap{}:             configMaps,
			&discoveryv1.EndpointSlice{}:    keybroker,
		},
	}
}

// stripBridge leaves out of a HostedBridge what only the ingress reads: what its user saw at the
// last visits, which is the largest part of some.
func stripBridge(object any) (any, error) {
	if b, ok := object.(*v1alpha1.HostedBridge); ok {
		b.ManagedFields, b.Status.Visits = nil, nil
	}
	return object, nil
}

// stripConfigMap keeps no field of a bridge's ConfigMap that the API server
// could provide again: the operator reads the owner from the metadata, and
// never reads the data.
func stripConfigMap(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.ConfigMap:
		kept := &corev1.ConfigMap{}
		kept.Namespace, kept.Name, kept.UID, kept.ResourceVersion = o.Namespace, o.Name, o.UID, o.ResourceVersion
		return kept, nil
	case *metav1.PartialObjectMetadata:
		return stripMetadata(o)
	}
	return object, nil
}

// stripMetadata keeps the metadata that shows whether an object is as it was
// applied.
func stripMetadata(object any) (any, error) {
	if o, ok := object.(*metav1.PartialObjectMetadata); ok {
		o.ObjectMeta = applied(&o.ObjectMeta)
	}
	return object, nil
}

// stripDeployment keeps the metadata that stripMetadata keeps, the status that the Deployment's
// controller reports, and of its pod what mountedImages reads.
func stripDeployment(object any) (any, error) {
	d, ok := object.(*appsv1.Deployment)
	if !ok {
		return object, nil
	}
	kept := &appsv1.Deployment{ObjectMeta: applied(&d.ObjectMeta)}
	kept.Status.ObservedGeneration, kept.Status.Replicas = d.Status.ObservedGeneration, d.Status.Replicas
	kept.Status.UpdatedReplicas, kept.Status.AvailableReplicas = d.Status.UpdatedReplicas, d.Status.AvailableReplicas
	kept.Spec.Replicas = d.Spec.Replicas
	for _, c := range d.Spec.Template.Spec.Containers {
		kept.Spec.Template.Spec.Containers = append(kept.Spec.Template.Spec.Containers, corev1.Container{Name: c.Name})
	}
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.Image != nil {
			kept.Spec.Template.Spec.Volumes = append(kept.Spec.Template.Spec.Volumes, v)
		}
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure {
			kept.Status.Conditions = append(kept.Status.Conditions, appsv1.DeploymentCondition{Type: c.Type, Status: c.Status, Message: c.Message})
		}
	}
	return kept, nil
}

func applied(m *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, OwnerReferences: m.OwnerReferences,
	}
	if digest, ok := m.Annotations[v1alpha1.AnnotationApplied]; ok {
		kept.Annotations = map[string]string{v1alpha1.AnnotationApplied: digest}
	}
	for _, e := range m.ManagedFields {
		if e.Manager == v1alpha1.FieldOwnerOperator && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" {
			kept.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: e.Manager, Operation: e.Operation, Time: e.Time, FieldsV1: shared(e.FieldsV1, m.OwnerReferences)}}
		}
	}
	return kept
}

// bridgeLabels are those labels of bridges' pods that are read. All pods in memory share
// them.
var (
	bridgeLabels   = v1alpha1.BridgePodLabels()
	bridgeSelector = labels.SelectorFromSet(bridgeLabels)
)

// stripPod keeps the fields of a pod that observedPod and the watches read.
func stripPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{Status: corev1.PodStatus{Phase: pod.Status.Phase}}
	kept.Name, kept.Namespace, kept.UID = pod.Name, pod.Namespace, pod.UID
	kept.ResourceVersion, kept.CreationTimestamp = pod.ResourceVersion, pod.CreationTimestamp
	kept.DeletionTimestamp = pod.DeletionTimestamp
	if kept.Labels = pod.Labels; bridgeSelector.Matches(labels.Set(pod.Labels)) {
		kept.Labels = bridgeLabels
	}
	kept.Annotations = map[string]string{
		v1alpha1.AnnotationBridgeUID:    pod.Annotations[v1alpha1.AnnotationBridgeUID],
		v1alpha1.AnnotationUserID:       pod.Annotations[v1alpha1.AnnotationUserID],
		v1alpha1.AnnotationConfigDigest: pod.Annotations[v1alpha1.AnnotationConfigDigest],
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled {
			kept.Status.Conditions = append(kept.Status.Conditions,
				corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
		}
	}
	kept.Status.ContainerStatuses = stripStatuses(pod.Status.ContainerStatuses)
	kept.Status.InitContainerStatuses = stripStatuses(pod.Status.InitContainerStatuses)
	return kept, nil
}

func stripStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for _, s := range statuses {
		kept = append(kept, corev1.ContainerStatus{
			Name: s.Name, Ready: s.Ready, RestartCount: s.RestartCount,
			State: stripState(s.State), LastTerminationState: stripState(s.LastTerminationState),
		})
	}
	return kept
}

// stripState keeps why a container does not run, and what a bridge's process
// noted before it ended. Other texts can have kilobytes.
func stripState(s corev1.ContainerState) corev1.ContainerState {
	var kept corev1.ContainerState
	if s.Waiting != nil {
		kept.Waiting = &corev1.ContainerStateWaiting{Reason: s.Waiting.Reason}
	}
	if s.Terminated != nil {
		kept.Terminated = &corev1.ContainerStateTerminated{
			Reason: s.Terminated.Reason, ExitCode: s.Terminated.ExitCode, FinishedAt: s.Terminated.FinishedAt,
			Message: health.ParseSuspect(s.Terminated.Message).Text(),
		}
	}
	return kept
}
