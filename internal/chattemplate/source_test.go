package chattemplate

import "testing"

// TestBlanksAroundTags has what Python's Jinja makes of these with trim_blocks
// and lstrip_blocks on, as transformers sets them.
func TestBlanksAroundTags(t *testing.T) {
	for source, want := range map[string]string{
		"{% if 1 %}\na{{ 'x' }}\n\n{% endif %}\nb":                                   "ax\n\nb",
		"a{{ 'x' }}\n\n  {% if 1 %}\nb{% endif %}":                                   "ax\n\nb",
		"{% if 1 %}{{ 'x' }}\n\n{% endif %}\nb\n":                                    "x\n\nb",
		"a\n\n{% if 1 %}b{% endif %}\n\nc":                                           "a\n\nb\nc",
		"  {% if 1 %}\n  {{- ' x' }}  {%- endif %} \n":                               " x ",
		"a  {# c #}\nb\n  {# c -#}\n\n d":                                            "a  b\nd",
		"a {%+ if 1 +%}\nb{% endif %}":                                               "a \nb",
		"x {%- raw %} {{ a }} {% b %}\n{% endraw -%}\n y":                            "x {{ a }} {% b %}\ny",
		"{{ {'a': 'b'}['a'] }} }} %} \"\\n{":                                         "b }} %} \"\\n{",
		"{% for i in [1, 2] %}\n  {% if i == 1 %}\n  a\n  {% endif %}\n{% endfor %}": "  a\n",
		"{% generation %}\nx\n{% endgeneration %}\ny\r\nz":                           "x\ny\nz",
		"{{ none }} {{ 1.0 }} {{ 1 if false }}{{ nosuch }}.":                         "None 1.0 .",
		"a\n":   "a",
		"a\n\n": "a\n",
	} {
		tmpl, err := Compile(source, nil)
		if err != nil {
			t.Errorf("%q: %v", source, err)
			continue
		}
		got, err := tmpl.Render(Input{})
		if got != want || err != nil {
			t.Errorf("%q gives %q, %v; want %q", source, got, err, want)
		}
	}
}
