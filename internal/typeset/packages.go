package typeset

import (
	"path"
	"strings"
)

// Packages are the Debian packages that have all that a report needs.
var Packages = []string{"texlive-latex-base", "texlive-latex-recommended", "lmodern"}

// debian are the Debian packages with the files that a document may ask for, by
// name without extension; any other style is in a large package.
var debian = map[string]string{
	"article": "texlive-latex-base", "array": "texlive-latex-base", "longtable": "texlive-latex-base",
	"fontenc": "texlive-latex-base", "inputenc": "texlive-latex-base", "textcomp": "texlive-latex-base",
	"graphicx": "texlive-latex-base", "hyperref": "texlive-latex-base", "geometry": "texlive-latex-base",
	"amsmath": "texlive-latex-base", "amssymb": "texlive-base", "amsfonts": "texlive-base", "pdflscape": "texlive-latex-base",
	"booktabs": "texlive-latex-recommended", "caption": "texlive-latex-recommended",
	"microtype": "texlive-latex-recommended", "xcolor": "texlive-latex-recommended", "float": "texlive-latex-recommended",
	"fancyvrb": "texlive-latex-recommended", "etoolbox": "texlive-latex-recommended",
	"lmodern": "lmodern", "cm-super": "cm-super", "adjustbox": "texlive-latex-extra",
}

// packageOf is the Debian package with a style, class or font. Names of fonts
// that begin with two letters of the families ec, tc and cm-super are theirs.
func packageOf(file string) string {
	name := strings.TrimSuffix(file, path.Ext(file))
	if p, known := debian[name]; known {
		return p
	}
	switch ext := path.Ext(file); {
	case ext == ".sty" || ext == ".cls":
		return "texlive-latex-extra"
	case strings.HasPrefix(name, "lm"):
		return "lmodern"
	case strings.HasPrefix(name, "ec") || strings.HasPrefix(name, "tc"):
		return "cm-super"
	}
	return ""
}
