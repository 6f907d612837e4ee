{{/*
What the Deployments share. Each component's include sites are named
templates hosted-bridge.<component>.<topic>.args, .mounts and .volumes; the files
_<topic>.tpl have them, and a topic that has nothing to say is empty.
*/}}

{{/* The image of a component: call with (dict "root" $ "name" "ingress" "image" .Values.ingress.image). */}}
{{- define "hosted-bridge.image" -}}
{{- $image := .root.Values.image -}}
{{- .image | default (printf "%s/%s:%s" $image.repository .name ($image.tag | default .root.Chart.AppVersion)) -}}
{{- end }}

{{/* The image of a runtime: call with (dict "root" $ "name" "runtime-node" "image" .Values.bridge.runtimes.node). */}}
{{- define "hosted-bridge.runtime" -}}
{{- if eq .image "auto" -}}
{{- include "hosted-bridge.image" (dict "root" .root "name" .name "image" "") -}}
{{- else -}}
{{- .image -}}
{{- end -}}
{{- end }}

{{/*
The images that have the shim of the bridge's version: those of the values, and the
runtimes of the tag that the bridge's image has.
*/}}
{{- define "hosted-bridge.shimImages" -}}
{{- $runtimes := .Values.bridge.runtimes -}}
{{- $images := $runtimes.shimImages -}}
{{- if not .Values.bridge.image -}}
{{- if eq $runtimes.node "auto" }}{{ $images = append $images (include "hosted-bridge.image" (dict "root" . "name" "runtime-node" "image" "")) }}{{ end -}}
{{- if eq $runtimes.python "auto" }}{{ $images = append $images (include "hosted-bridge.image" (dict "root" . "name" "runtime-python" "image" "")) }}{{ end -}}
{{- end -}}
{{- join "," $images -}}
{{- end }}

{{/*
Annotations of pods, with a checksum of what they read only at their start.
config/ needs no checksum: Kustomize names such ConfigMaps by their content.
Call with (dict "root" $ "annotations" .Values.operator.podAnnotations "reads" (list "installation" "tiers")).
*/}}
{{- define "hosted-bridge.podAnnotations" -}}
{{- $annotations := dict -}}
{{- if eq .root.Release.Service "Helm" -}}
{{- range .reads }}
{{- $_ := set $annotations (printf "checksum/%s" .) (include (printf "hosted-bridge.config.%s" .) $.root | sha256sum) }}
{{- end }}
{{- end }}
{{- with merge $annotations .annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What a component's values say of its pods: call with (dict "root" $ "values" .Values.ingress). */}}
{{- define "hosted-bridge.pod" -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
{{ toYaml . }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Flags of the values' own: call with .Values.ingress.extraArgs. */}}
{{- define "hosted-bridge.extraArgs" -}}
{{- range . }}
- {{ quote . }}
{{- end }}
{{- end }}

{{/* Each of a list's entries as a flag of its own: call with (dict "flag" "upstream-allow-cidr" "list" …). */}}
{{- define "hosted-bridge.flags" -}}
{{- range .list }}
- --{{ $.flag }}={{ . }}
{{- end }}
{{- end }}

{{/* The namespace of the pod that reads it, so that what is installed fits any. */}}
{{- define "hosted-bridge.namespaceEnv" -}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
{{- end }}
