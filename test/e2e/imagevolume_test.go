// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestAPodOfTheLocalClusterReadsAnImageThatItMountsAndCannotChangeIt mounts the
// image of the everything server, which is one program, in a pod of another image.
func TestAPodOfTheLocalClusterReadsAnImageThatItMountsAndCannotChangeIt(t *testing.T) {
	t.Parallel()
	if os.Getenv("CLUSTER") != "local" {
		t.Skip("the cluster is not the local one, whose container runtime is the project's") //nolint:forbidigo // A cluster of somebody else.
	}
	const script = `const fs = require("fs"), names = fs.readdirSync("/image")
let error = "none"
try { fs.writeFileSync("/image/new", "") } catch (e) { error = e.code }
console.log(names.includes("everything-server"), error)`
	name := installed.name("reader")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: installed.namespace, Name: name},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false),
			RestartPolicy:                corev1.RestartPolicyNever,
			Volumes: []corev1.Volume{{Name: "image", VolumeSource: corev1.VolumeSource{
				Image: &corev1.ImageVolumeSource{Reference: installed.upstream, PullPolicy: corev1.PullNever},
			}}},
			Containers: []corev1.Container{{
				Name: "node", Image: installed.servers, ImagePullPolicy: corev1.PullNever,
				Command:      []string{"node", "-e", script},
				VolumeMounts: []corev1.VolumeMount{{Name: "image", MountPath: "/image"}},
				// Root, so that it is the mount that refuses the file.
				SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(0))},
			}},
		},
	}
	must.Succeed(t, installed.client.Create(t.Context(), pod))
	mustKubectl(t, "wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/"+name, "--timeout=60s")
	if got := strings.TrimSpace(mustKubectl(t, "logs", name)); got != "true EROFS" {
		t.Errorf("the pod has the image's program, and writing a file ends with: %s; want true EROFS", got)
	}
}
