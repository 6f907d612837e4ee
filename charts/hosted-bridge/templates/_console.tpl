{{/* What the values of the console add to the ingress. */}}
{{- define "hosted-bridge.ingress.console.args" -}}
{{- with .Values.console -}}
{{- if not .enabled }}
- --console=false
{{- else }}
{{- if not .administrators }}
- --console-administrators=false
{{- end }}
{{- with .name }}
- {{ printf "--console-name=%s" . | quote }}
{{- end }}
{{- with .contact }}
- {{ printf "--console-contact=%s" . | quote }}
{{- end }}
{{- if .logoConfigMap }}
- --console-logo-file=/etc/hosted-bridge/console/logo
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "hosted-bridge.ingress.console.mounts" -}}
{{- if and .Values.console.enabled .Values.console.logoConfigMap -}}
- {name: console-logo, mountPath: /etc/hosted-bridge/console, readOnly: true}
{{- end }}
{{- end }}

{{- define "hosted-bridge.ingress.console.volumes" -}}
{{- if and .Values.console.enabled .Values.console.logoConfigMap -}}
- name: console-logo
  configMap:
    name: {{ .Values.console.logoConfigMap }}
    items: [{key: logo, path: logo}]
{{- end }}
{{- end }}

{{/* Whether administrators have a console, as "true" or nothing. */}}
{{- define "hosted-bridge.console.administrators" -}}
{{- if and .Values.console.enabled .Values.console.administrators }}true{{ end -}}
{{- end }}
