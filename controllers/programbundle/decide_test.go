// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programbundle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/test/health"
)

var (
	now      = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	settings = Settings{MaxJobs: 2, Retention: 24 * time.Hour}
	digest   = "sha256:" + strings.Repeat("ab", 32)
)

func unmade() *v1alpha1.ProgramBundle {
	b := &v1alpha1.ProgramBundle{Spec: v1alpha1.ProgramBundleSpec{
		Install: v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "server", Version: "1.2.3"}, Architecture: "amd64",
	}}
	b.Name, b.UID = "server-1-2-3-abcdefghijkl", "0123456789"
	return b
}

// wrote returns what the packer writes of an outcome.
func wrote(o bundle.Outcome) string {
	text, err := o.Encode()
	if err != nil {
		panic(err)
	}
	return string(text)
}

// finished returns a Job that ended, and its pod with what the packer wrote last.
func finished(kind batchv1.JobConditionType, message string) (*batchv1.Job, []corev1.Pod) {
	job := &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Message: "reached its limit"}}}}
	job.Name = bridgeobjects.InstallJobName(unmade())
	pod := corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
		{Name: bridgeobjects.PackContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: message}}},
	}}}
	return job, []corev1.Pod{pod}
}

func TestWhatIsDoneAboutABundle(t *testing.T) {
	running := &batchv1.Job{}
	running.Name = "job"
	unschedulable := []corev1.Pod{{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no node is large enough"}}}}}
	made, madePods := finished(batchv1.JobComplete, wrote(bundle.Outcome{
		Digest: bundle.Digest(digest), Size: 5 << 20, CompressedSize: 1 << 20, Packages: 2, Scripts: []string{"built@1.0.0"}, Bins: map[string]string{"server": "node_modules/server/index.js"}, Bin: "server",
	}))
	refused, refusedPods := finished(batchv1.JobComplete, wrote(bundle.Outcome{Code: bundle.VersionNotFound, Message: "there is no such version"}))
	broken, brokenPods := finished(batchv1.JobFailed, "the store is away")
	silent, _ := finished(batchv1.JobFailed, "")
	failedBefore := func(b *v1alpha1.ProgramBundle) {
		b.Status.Attempts, b.Status.RetryTime = 1, new(metav1.NewTime(now.Add(time.Minute)))
	}
	ready := func(b *v1alpha1.ProgramBundle) { b.Status.Digest = digest }
	for name, tt := range map[string]struct {
		change func(*v1alpha1.ProgramBundle)
		o      observed
		at     time.Time
		want   string // what is done, the reason, and when to look again
		says   string
	}{
		"nothing was done yet":               {nil, observed{bridges: 1}, now, "install Installing 0s", "installed by Job server-1-2-3-abcdefghijkl-01234-1"},
		"as many as may are being installed": {nil, observed{bridges: 1, others: 2}, now, " Installing 5s", "when others have ended"},
		"nobody needs it":                    {nil, observed{}, now, " Installing 24h0m0s", "when a HostedBridge has a server"},
		"its Job runs":                       {nil, observed{bridges: 1, job: running}, now, " Installing 0s", "by Job job"},
		"its pod is not scheduled":           {nil, observed{bridges: 1, job: running, pods: unschedulable}, now, " Installing 0s", "no node is large enough"},
		"it was installed":                   {nil, observed{bridges: 1, job: made, pods: madePods}, now, " Ready 0s", "2 packages, 5Mi; install scripts that did not run: built@1.0.0"},
		"npm refused":                        {nil, observed{bridges: 1, job: refused, pods: refusedPods}, now, " VersionNotFound 1m0s", "there is no such version"},
		"the packer failed":                  {nil, observed{bridges: 1, job: broken, pods: brokenPods}, now, " InstallFailed 1m0s", "ended without a result: the store is away"},
		"the Job failed without a pod":       {nil, observed{bridges: 1, job: silent}, now, " InstallFailed 1m0s", "reached its limit"},
		"it failed a moment ago":             {failedBefore, observed{bridges: 1}, now, "  1m0s", ""},
		"it failed a while ago":              {failedBefore, observed{bridges: 1}, now.Add(2 * time.Minute), "install Installing 0s", "abcdefghijkl-01234-2"},
		"it fails again":                     {failedBefore, observed{bridges: 1, job: refused, pods: refusedPods}, now, " VersionNotFound 4m0s", ""},
		"it is used":                         {ready, observed{bridges: 3}, now, "  0s", ""},
		"nobody uses it any more":            {ready, observed{}, now, "  24h0m0s", ""},
		"nobody has used it for long": {func(b *v1alpha1.ProgramBundle) {
			b.Status.Digest, b.Status.UnusedSince = digest, new(metav1.NewTime(now.Add(-25*time.Hour)))
		}, observed{}, now, "remove  1ms", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := unmade()
			if tt.change != nil {
				tt.change(b)
			}
			d := decide(b, tt.o, settings, tt.at)
			act := map[bool]string{true: "install"}[d.job != nil] + map[bool]string{true: "remove"}[d.remove]
			reason, message := "", ""
			if c := meta.FindStatusCondition(d.status.Conditions, v1alpha1.ConditionReady); c != nil {
				reason, message = c.Reason, c.Message
			}
			if got := fmt.Sprintf("%s %s %v", act, reason, d.again); got != tt.want || !strings.Contains(message, tt.says) {
				t.Errorf("got %q with %q, want %q with %q", got, message, tt.want, tt.says)
			}
			seen := health.Current // What is not known yet is in progress by the default of observedGeneration.
			switch {
			case reason == v1alpha1.ReasonInstalling:
				seen = health.InProgress
			case reason != "" && reason != v1alpha1.ReasonReady:
				seen = health.Failed
			}
			b.Status = d.status
			health.Expect(t, b, seen)
			if d.status.Bridges != int32(tt.o.bridges) || (d.status.UnusedSince == nil) != (tt.o.bridges > 0) {
				t.Errorf("%d bridges, unused since %v", d.status.Bridges, d.status.UnusedSince)
			}
		})
	}
}

func TestAPauseGrowsAndEnds(t *testing.T) {
	b, pauses := unmade(), []time.Duration{}
	job, pods := finished(batchv1.JobFailed, "no")
	for range 7 {
		d := decide(b, observed{bridges: 1, job: job, pods: pods}, settings, now)
		pauses = append(pauses, d.again)
		b.Status = d.status
	}
	want := []time.Duration{time.Minute, 4 * time.Minute, 16 * time.Minute, 64 * time.Minute, 256 * time.Minute, 6 * time.Hour, 6 * time.Hour}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Error(diff)
	}
}

// TestABundleOfAnInstallationWithARegistryIsAnImage follows one from its creation on.
func TestABundleOfAnInstallationWithARegistryIsAnImage(t *testing.T) {
	s := settings
	s.Repository = "registry.example.com/bundles"
	image := bundle.Digest("sha256:" + strings.Repeat("cd", 32))
	whole := bundle.Outcome{Digest: bundle.Digest(digest), Size: 1, CompressedSize: 1, Packages: 1, Bins: map[string]string{"server": "index.js"}, Bin: "server"}
	inRegistry := whole
	inRegistry.Image = image
	failed := bundle.Outcome{Code: bundle.RegistryFailed, Message: "the registry is away"}
	type say struct {
		outcome bundle.Outcome
		want    string // the Job, the reasons of Ready and InRegistry, and the image
	}
	for name, says := range map[string][]say{
		"the registry has it": {{inRegistry, "01234-f1 Ready Found registry.example.com/bundles@" + string(image)}},
		"it is installed and uploaded": {
			{bundle.Outcome{Code: bundle.NotInRegistry, Message: "none"}, "01234-f1 Installing NotFound "},
			{whole, "01234-1 Ready NotFound "},
			{inRegistry, "01234-p1 Ready Pushed registry.example.com/bundles@" + string(image)},
		},
		"the registry is away for a while": {
			{failed, "01234-f1 Installing RegistryFailed "},
			{whole, "01234-1 Ready RegistryFailed "},
			{failed, "01234-p1 Ready RegistryFailed "},
			{inRegistry, "01234-p2 Ready Pushed registry.example.com/bundles@" + string(image)},
		},
		"the store has another one by now": {
			{bundle.Outcome{Code: bundle.NotInRegistry, Message: "none"}, "01234-f1 Installing NotFound "},
			{whole, "01234-1 Ready NotFound "},
			{bundle.Outcome{Digest: image, Size: 1, CompressedSize: 1, Bins: whole.Bins, Bin: "server", Image: image}, "01234-p1 Ready RegistryFailed "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, at := unmade(), now
			for _, said := range says {
				begun := decide(b, observed{bridges: 1}, s, at)
				if begun.job == nil {
					t.Fatalf("no Job for %s", said.want)
				}
				b.Status = begun.status
				if again := decide(b, observed{bridges: 1, job: begun.job}, s, at); again.job != nil {
					t.Fatal("another Job beside the one that runs")
				}
				job, pods := finished(batchv1.JobComplete, wrote(said.outcome))
				job.Name = begun.job.Name
				b.Status = decide(b, observed{bridges: 1, job: job, pods: pods}, s, at).status
				ready, inRegistry := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady), meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionInRegistry)
				_, suffix, _ := strings.Cut(begun.job.Name, "abcdefghijkl-")
				if got := fmt.Sprintf("%s %s %s %s", suffix, ready.Reason, inRegistry.Reason, b.Status.Reference); got != said.want {
					t.Errorf("got %s, want %s", got, said.want)
				}
				at = at.Add(time.Hour)
			}
			if last := decide(b, observed{bridges: 1}, s, at.Add(-time.Hour)); last.job != nil {
				t.Errorf("a Job more: %s", last.job.Name)
			}
			b.Status.Reference = s.Repository + "@" + string(image)
			if reason := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionInRegistry).Reason; reason == v1alpha1.ReasonPushed || reason == v1alpha1.ReasonFound {
				refused := b.DeepCopy()
				refused.Annotations = map[string]string{v1alpha1.AnnotationImageRefused: at.Format(time.RFC3339)}
				refused.Status = decide(refused, observed{bridges: 1}, s, at).status
				if d := decide(refused, observed{bridges: 1}, s, at.Add(time.Second)); refused.Status.Reference != "" || d.job == nil || !strings.HasSuffix(d.job.Name, "-p1") {
					t.Errorf("an image that a node could not mount: %+v", d.status)
				}
			}
			other := s
			other.Repository = "other.example.com/bundles"
			if d := decide(b, observed{bridges: 1}, other, at.Add(time.Hour)); d.job == nil || !strings.Contains(d.job.Name, "-p") {
				t.Error("it is not uploaded to another registry")
			}
			if d := decide(b, observed{bridges: 1}, settings, at); d.job != nil || d.status.Reference != "" || meta.FindStatusCondition(d.status.Conditions, v1alpha1.ConditionInRegistry) != nil {
				t.Errorf("without a registry: %+v", d.status)
			}
		})
	}
}
