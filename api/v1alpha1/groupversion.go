// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of every type in this package.
	GroupVersion = schema.GroupVersion{Group: "hostedbridge.dev", Version: "v1alpha1"}

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds this package's types to a scheme.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&HostedBridge{}, &HostedBridgeList{},
		&BridgeProfile{}, &BridgeProfileList{},
		&BridgeGroup{}, &BridgeGroupList{},
		&BridgePerson{}, &BridgePersonList{},
		&SharedServer{}, &SharedServerList{},
		&BridgeRequest{}, &BridgeRequestList{},
		&CatalogRecipe{}, &CatalogRecipeList{},
		&CatalogPublisher{}, &CatalogPublisherList{},
		&ProgramBundle{}, &ProgramBundleList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
