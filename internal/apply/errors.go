// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ForeignError says that an object which a bridge needs exists and belongs to
// another owner.
type ForeignError struct {
	// Object is the object's kind and name.
	Object string
	// Controller is the kind and name of its controller, empty for none.
	Controller string
	// Predecessor means that it belongs to a deleted object of the owner's kind
	// and name, and so is about to be removed.
	Predecessor bool
}

// Error names the object and its owner.
func (e *ForeignError) Error() string {
	switch {
	case e.Predecessor:
		return fmt.Sprintf("%s belongs to the deleted %s and is not removed yet", e.Object, e.Controller)
	case e.Controller != "":
		return fmt.Sprintf("%s exists and belongs to %s; delete or rename it", e.Object, e.Controller)
	default:
		return fmt.Sprintf("%s exists and belongs to nobody; delete or rename it", e.Object)
	}
}

// foreign describes an object that owner, of the given kind, does not control.
func foreign(object string, controller *metav1.OwnerReference, kind schema.GroupVersionKind, owner client.Object) *ForeignError {
	if controller == nil {
		return &ForeignError{Object: object}
	}
	return &ForeignError{
		Object:     object,
		Controller: controller.Kind + " " + controller.Name,
		Predecessor: controller.APIVersion == kind.GroupVersion().String() &&
			controller.Kind == kind.Kind && controller.Name == owner.GetName(),
	}
}

// messageLimit is how many bytes of a refusal are kept. The part that says what
// is wrong comes first; a validation error goes on with the value.
const messageLimit = 512

// Refusal returns the API server's message if err is its refusal of a request:
// quota, admission, validation. It returns false for an error that a retry may
// solve: no answer at all, or a server that is too busy.
func Refusal(err error) (message string, refused bool) {
	status := apierrors.APIStatus(nil)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &status) {
		return "", false
	}
	if apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) {
		return "", false
	}
	message = status.Status().Message
	if len(message) > messageLimit {
		message = strings.ToValidUTF8(message[:messageLimit], "") + "…"
	}
	return message, true
}
