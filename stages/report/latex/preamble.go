package latex

// preamble is a sober article that needs texlive-latex-base and
// texlive-latex-recommended. With lmodern characters can be copied and
// searched; without it the fonts are those of plain TeX. Neither has bitmaps.
//
// \fitted makes a table that is too wide as wide as the text, and moves one whose
// notes, which are in boxes of no width, would stick out. \verdict is the line
// under a table, centred where it is one line.
const preamble = `\documentclass[10pt,a4paper]{article}
\IfFileExists{lmodern.sty}{\usepackage[T1]{fontenc}\usepackage{lmodern}}{}
\usepackage[a4paper,hmargin=25mm,top=25mm,bottom=28mm]{geometry}
\usepackage{array,booktabs,longtable}
\usepackage{graphicx,pdflscape,float}
\usepackage[font=small,labelfont=bf,justification=justified]{caption}
\usepackage{microtype}
\usepackage[hidelinks]{hyperref}
\ifdefined\pdfinfoomitdate % the same bytes on every day and in every folder
  \pdfinfoomitdate=1 \pdftrailerid{}\pdfsuppressptexinfo=-1
\fi
\renewcommand{\textasciigrave}{\` + "`" + `{}}
\newenvironment{formulas}{\begin{list}{}{\small\setlength{\leftmargin}{1.5em}\setlength{\itemindent}{-1em}\setlength{\labelsep}{0.5em}%
  \setlength{\labelwidth}{0pt}\setlength{\emergencystretch}{6em}\setlength{\itemsep}{1pt}\setlength{\parsep}{0pt}\setlength{\topsep}{2pt}%
  \renewcommand{\makelabel}[1]{##1:}}}{\end{list}}
\newsavebox{\fittedbox}
\newdimen\notewidth
\newcommand{\fitted}[1]{\global\notewidth=0pt
  \begingroup
    \def\makebox[##1][##2]##3{\setbox0\hbox{##3}%
      \ifdim\wd0>\notewidth\global\notewidth=\wd0\fi\hbox to 0pt{\box0\hss}}%
    \global\setbox\fittedbox\hbox{#1}%
  \endgroup
  \dimen0=2\notewidth\advance\dimen0-\wd\fittedbox
  \ifdim\notewidth>\wd\fittedbox\ifdim\dimen0>\linewidth
    \setbox\fittedbox\hbox to\notewidth{\box\fittedbox\hss}%
  \fi\fi
  \ifdim\wd\fittedbox>\linewidth
    \resizebox{\linewidth}{!}{\usebox{\fittedbox}}%
  \else
    \usebox{\fittedbox}%
  \fi}
\newcommand{\verdict}[1]{\par\vspace{4pt}\begingroup\footnotesize
  \sbox{\fittedbox}{\emph{Verdict.} #1}%
  \ifdim\wd\fittedbox>\linewidth
    \parbox{\linewidth}{\emph{Verdict.} #1}%
  \else
    \usebox{\fittedbox}%
  \fi\par\endgroup}
\AtBeginDocument{\setlength{\LTcapwidth}{\textwidth}}
\setlength{\LTleft}{0pt plus 1fill}
\setlength{\LTright}{0pt plus 1fill}
\setlength{\emergencystretch}{3em}
\setlength{\intextsep}{14pt plus 4pt minus 4pt}
\raggedbottom`
