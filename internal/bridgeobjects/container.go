// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

const (
	servingPort = 8443
	probePort   = 8081

	// envTrust carries the keybroker's CA certificate.
	envTrust = "KEYBROKER_CA"

	// envTraces is OpenTelemetry's variable for where traces go.
	envTraces = "OTEL_EXPORTER_OTLP_ENDPOINT"

	bridgeVolumeName = "bridge"
	bridgeFolder     = "/etc/hosted-bridge"
	tokenFile        = "token"
	// tokenAudience makes the token useless to anyone but the keybroker.
	tokenAudience = "hosted-bridge-keybroker"
	// tokenSeconds is how long a token lives; the kubelet renews it at 80 %.
	tokenSeconds = 3600

	// terminationLog is where the bridge notes which server most likely ends it.
	// The node makes the file, and reports its content when the process ends.
	terminationLog = "/dev/termination-log"

	// startSeconds is how long a bridge may take to begin serving before it is
	// restarted: many times what it needs, for busy nodes.
	startSeconds = 60
	// stuckProbes of stuckPeriodSeconds each are how long a bridge may fail to
	// answer at all before it is restarted.
	stuckProbes        = 3
	stuckPeriodSeconds = 10
)

func container(b *effective.Bridge, p bridgestate.Plan, s Settings) *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().
		WithName(v1alpha1.BridgeContainer).
		WithImage(s.BridgeImage).
		WithArgs(
			"pod",
			"--config-file="+bridgeFolder+"/"+configKey,
			"--keybroker-url="+s.KeybrokerURL,
			"--token-file="+bridgeFolder+"/"+tokenFile,
			"--listen=:8443",
			"--probe-listen=:8081",
			"--termination-log="+terminationLog,
		).
		WithTerminationMessagePath(terminationLog).
		WithEnv(corev1ac.EnvVar().WithName(envTrust).WithValue(p.Trust)).
		WithPorts(
			corev1ac.ContainerPort().WithName("mcp").WithContainerPort(servingPort).WithProtocol(corev1.ProtocolTCP),
			corev1ac.ContainerPort().WithName("probes").WithContainerPort(probePort).WithProtocol(corev1.ProtocolTCP),
		).
		WithResources(withDefaults(b.Spec.Resources, defaultRequests, defaultLimits)).
		WithStartupProbe(probe("/healthz").WithPeriodSeconds(1).WithFailureThreshold(startSeconds)).
		// A waking user waits for this probe, so it runs every second.
		WithReadinessProbe(probe("/readyz").WithPeriodSeconds(1).WithFailureThreshold(2)).
		WithLivenessProbe(probe("/healthz").WithPeriodSeconds(stuckPeriodSeconds).WithTimeoutSeconds(5).WithFailureThreshold(stuckProbes)).
		WithSecurityContext(restricted()).
		WithVolumeMounts(
			mount(bridgeVolumeName, bridgeFolder).WithReadOnly(true),
		)
	if s.OTLPEndpoint != "" {
		c.WithEnv(corev1ac.EnvVar().WithName(envTraces).WithValue(s.OTLPEndpoint))
	}
	return c
}

// restricted lists what each container of the pod may not do.
func restricted() *corev1ac.SecurityContextApplyConfiguration {
	return corev1ac.SecurityContext().
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(true).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}

func probe(path string) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithHTTPGet(
		corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromInt32(probePort)))
}

// bridgeVolume has the bridge's configuration, and the pod's only credential: a token
// for the keybroker alone.
func bridgeVolume(b *effective.Bridge) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(bridgeVolumeName).WithProjected(
		corev1ac.ProjectedVolumeSource().WithSources(
			corev1ac.VolumeProjection().WithServiceAccountToken(
				corev1ac.ServiceAccountTokenProjection().
					WithAudience(tokenAudience).
					WithExpirationSeconds(tokenSeconds).
					WithPath(tokenFile)),
			corev1ac.VolumeProjection().WithConfigMap(
				corev1ac.ConfigMapProjection().WithName(v1alpha1.WorkloadName(b.Name)))))
}
