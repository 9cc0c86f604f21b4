package figure

import (
	"crypto/sha256"

	"speceval/internal/typeface"
)

// subsets is the parts of the fonts that a sheet's text needs, by face.
func (s *sheet) subsets() (out [faceCount]typeface.Subset, err error) {
	loaded, err := faces()
	if err != nil {
		return out, err
	}
	var chars [faceCount][]rune
	for _, m := range s.marks {
		chars[m.text.face] = append(chars[m.text.face], []rune(m.text.text)...)
	}
	for face := range out {
		if len(chars[face]) == 0 {
			continue
		}
		if out[face], err = loaded[face].Subset(faceNames[face], chars[face]); err != nil {
			return out, err
		}
	}
	return out, nil
}

// tagged is the name of a subset in a PDF: six letters, which say of which
// characters it is, before the font's name.
func tagged(face int, subset typeface.Subset) string {
	sum := sha256.Sum256(subset.Data)
	tag := make([]byte, 6)
	for i := range tag {
		tag[i] = 'A' + sum[i]%26
	}
	return string(tag) + "+" + faceNames[face]
}
