// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// retryInterval is how often an API server is tried that tells nothing of routes. An
// informer that is told of the failure would wait up to a minute before it tries
// again, and a key that is revoked right after the outage would work as long.
const retryInterval = time.Second

// retryUntilAnswered asks until the API server answers the question.
func retryUntilAnswered[T any](ctx context.Context, c *connectivity, ask func() (T, error)) (T, error) {
	for {
		answer, err := ask()
		if !isUnanswered(err) {
			return answer, err
		}
		c.failed(err)
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(retryInterval):
		}
	}
}

// isUnanswered reports whether err is that of an API server that was not
// reached, or that cannot or may not answer yet: one that has just started has
// neither rights nor resources, and says so by 403 and 404, and one whose
// storage is away, or a proxy in front of one, has answers of 500 and more. What
// is wrong with the question is for the informer, which then asks another one.
func isUnanswered(err error) bool {
	status := apierrors.APIStatus(nil)
	if err == nil || !errors.As(err, &status) {
		return err != nil
	}
	switch status.Status().Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable:
		return true
	case http.StatusGatewayTimeout:
		// So it also says that it does not know the version that was asked for.
		return !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
	}
	return false
}
